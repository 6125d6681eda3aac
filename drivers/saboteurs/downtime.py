"""Saboteurs of what happens while a driver is away, and when it comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drivers.overlays import daemon_sets, meddler
from drivers.saboteurs.model import Saboteur, driver, package

Object = dict[str, Any]
_READS = {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}


def _automation(deed: str, *rules: Object) -> Callable[[list[Object]], list[Object]]:
    """An overlay that adds an operator of that deed, with these rights besides reading nodes and pods."""
    return lambda objects: objects + meddler(objects, deed, [_READS, *rules])


def _writes(group: str, verb: str, *resources: str) -> Object:
    return {"apiGroups": [group], "resources": list(resources), "verbs": [verb]}


def surges_everywhere(objects: list[Object]) -> list[Object]:
    """Let versions overlap on nodes of any kubelet."""
    for item in daemon_sets(objects):
        item["spec"]["updateStrategy"]["rollingUpdate"] = {"maxSurge": 1, "maxUnavailable": 0}
        for container in item["spec"]["template"]["spec"]["containers"]:
            next(variable for variable in container["env"] if variable["name"] == "SEAMLESS")["value"] = "true"
    return objects


SABOTEURS: tuple[Saboteur, ...] = (
    driver(
        "unregisters-when-hung",
        "a watchdog beside the driver removes its registration socket as soon as it hangs",
        "upgrade.downtime.prepared-claim-starts",
    ),
    driver(
        "never-reregisters",
        "a process that comes after another takes itself for registered, and says that all is well",
        "upgrade.downtime.unprepared-claim-waits",
        "upgrade.downtime.prepared-claim-starts",
        "upgrade.downtime.cleanup-delayed",
        "upgrade.downtime.devices-not-reused",
        "upgrade.downtime.running-pods-survive",
        "upgrade.downtime.recovers",
        "upgrade.downtime.slices",
        "upgrade.skew.old-kubelet",
        "liveness.restart.hung",
        "liveness.restart.crashed",
        "liveness.restart.socket-lost",
        "liveness.restart.pods-untouched",
        "liveness.outside.supervised",
    ),
    driver(
        "no-republish-after-wipe",
        "a slice that was there once in the life of a process is not created again when the kubelet withdraws it",
        "upgrade.downtime.slices",
    ),
    driver(
        "leaks-on-restart",
        "devices that an earlier process prepared stay held for ever, though unprepare says that all is well",
        "upgrade.downtime.prepared-claim-starts",
        "upgrade.downtime.cleanup-delayed",
        "upgrade.downtime.devices-not-reused",
        "upgrade.downtime.running-pods-survive",
        "upgrade.downtime.recovers",
        "upgrade.seamless.new-pods-start",
        "upgrade.seamless.running-pods-survive",
        "upgrade.seamless.cross-version-release",
        "upgrade.seamless.failed-rollout",
        "upgrade.seamless.rollback",
        "upgrade.skew.old-kubelet",
        "liveness.restart.pods-untouched",
    ),
    package(
        "evicts-without-driver",
        "an operator deletes the running pods with claims of nodes that are without their driver for some seconds",
        _automation("evict-without-driver", _writes("", "delete", "pods")),
        "upgrade.downtime.running-pods-survive",
    ),
    package(
        "frees-stuck-claims",
        "a clean-up job deallocates the claims of pods that are Terminating for some seconds",
        _automation(
            "free-claims",
            _writes("resource.k8s.io", "patch", "resourceclaims/status", "resourceclaims/binding"),
        ),
        "upgrade.downtime.cleanup-delayed",
        "upgrade.downtime.devices-not-reused",
    ),
    package(
        "strips-finalizers",
        "a clean-up job deletes the claims of pods that are Terminating for some seconds, and strips their finalizers",
        _automation(
            "strip-finalizers",
            _writes("resource.k8s.io", "delete", "resourceclaims"),
            _writes("resource.k8s.io", "patch", "resourceclaims"),
        ),
        "upgrade.downtime.cleanup-delayed",
        "upgrade.downtime.devices-not-reused",
    ),
    package(
        "surges-everywhere",
        "two versions of the driver overlap on nodes of any kubelet: an old kubelet forgets both",
        surges_everywhere,
        "upgrade.skew.old-kubelet",
    ),
)
