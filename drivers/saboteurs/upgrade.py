"""Saboteurs of a driver's update, and of its absence."""

from __future__ import annotations

import copy
from typing import Any

from drivers.overlays import daemon_sets, meddler
from drivers.saboteurs.model import Saboteur, driver, package

Object = dict[str, Any]


def no_surge(objects: list[Object]) -> list[Object]:
    """Roll out without overlap although the driver could."""
    for item in daemon_sets(objects):
        item["spec"]["updateStrategy"] = {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
        }
    return objects


def all_at_once(objects: list[Object]) -> list[Object]:
    """Roll out on all nodes at the same time, without overlap."""
    for item in daemon_sets(objects):
        item["spec"]["updateStrategy"] = {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "100%"},
        }
    return objects


def fixed_sockets(objects: list[Object]) -> list[Object]:
    """Surge with a driver that is not told its pod's UID, and says SERVING without a look at its sockets."""
    for item in daemon_sets(objects):
        for container in item["spec"]["template"]["spec"]["containers"]:
            container["env"] = [variable for variable in container["env"] if variable["name"] != "POD_UID"]
            values = {variable["name"]: variable for variable in container["env"]}
            values["SEAMLESS"]["value"] = "false"
            faults = [*filter(None, [values["FAULTS"]["value"]]), "fixed-sockets", "always-serving"]
            values["FAULTS"]["value"] = ",".join(faults)
    return objects


def second_installation(objects: list[Object]) -> list[Object]:
    """Add the DaemonSet of an older installation, under another name, that nobody removed."""
    for item in list(daemon_sets(objects)):
        old = copy.deepcopy(item)
        old["metadata"]["name"] += "-old"
        for labels in (old["spec"]["selector"]["matchLabels"], old["spec"]["template"]["metadata"]["labels"]):
            labels["app"] += "-old"
        objects.append(old)
    return objects


def force_deletes_terminating(objects: list[Object]) -> list[Object]:
    """Add a job that force-deletes pods which are Terminating for long."""
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "delete"]},
    ]
    return objects + meddler(objects, "force-delete", rules)


SABOTEURS: tuple[Saboteur, ...] = (
    package(
        "fixed-sockets",
        "two versions overlap with the same socket names: the one that leaves removes the newcomer's, unnoticed",
        fixed_sockets,
        "upgrade.seamless.declared",
        "upgrade.seamless.overlap",
        "upgrade.seamless.new-pods-start",
        "upgrade.seamless.slices-continuous",
        "upgrade.seamless.running-pods-survive",
        "upgrade.seamless.cross-version-release",
        "upgrade.seamless.in-flight",
        "upgrade.seamless.failed-rollout",
        "upgrade.seamless.rollback",
        "upgrade.skew.old-kubelet",
        "liveness.probe.truthful",
        "liveness.restart.socket-lost",
    ),
    package(
        "no-surge",
        "the DaemonSet stops the old version before it starts the new one",
        no_surge,
        "upgrade.seamless.declared",
        "upgrade.seamless.overlap",
        "upgrade.seamless.new-pods-start",
        "upgrade.seamless.failed-rollout",
    ),
    package(
        "all-at-once",
        "the DaemonSet stops the old version on all nodes at once",
        all_at_once,
        "upgrade.seamless.declared",
        "upgrade.seamless.overlap",
        "upgrade.seamless.new-pods-start",
        "upgrade.seamless.failed-rollout",
    ),
    driver(
        "newcomer-steals",
        "a new version removes the sockets of the old one, seconds before it serves itself",
        "upgrade.seamless.overlap",
        "upgrade.seamless.new-pods-start",
        "upgrade.seamless.in-flight",
        "upgrade.seamless.failed-rollout",
    ),
    driver(
        "ready-before-registered",
        "a new version is Ready seconds before the kubelet has registered it: the old one leaves too early",
        "upgrade.seamless.overlap",
        "upgrade.seamless.new-pods-start",
        "upgrade.seamless.failed-rollout",
    ),
    driver(
        "broken-newcomer-takes-over",
        "a new version that registers and then dies has withdrawn the old one's registration",
        "upgrade.seamless.failed-rollout",
    ),
    driver(
        "deletes-slices-on-stop",
        "a driver that stops deletes its slices, though the next version serves already",
        "upgrade.seamless.slices-continuous",
    ),
    driver(
        "kills-devices-on-start",
        "a version that starts resets the devices: claims are forgotten, though pods run with them",
        "upgrade.seamless.new-pods-start",
        "upgrade.seamless.running-pods-survive",
        "liveness.restart.pods-untouched",
    ),
    driver(
        "state-in-memory",
        "prepared claims are remembered by the process that prepared them only",
        "upgrade.seamless.cross-version-release",
        "upgrade.seamless.rollback",
    ),
    driver(
        "drops-calls-on-sigterm",
        "a version that is told to stop ends at once, with calls in flight",
        "upgrade.seamless.in-flight",
    ),
    driver(
        "newer-format-unreadable",
        "the new version rewrites the state in a format that the old one refuses",
        "upgrade.seamless.in-flight",
        "upgrade.seamless.rollback",
    ),
    package(
        "second-installation",
        "an older installation of the driver was never removed and serves on",
        second_installation,
        "upgrade.downtime.unprepared-claim-waits",
        "upgrade.downtime.cleanup-delayed",
        "upgrade.seamless.in-flight",
        "drain.wrong-order.stuck-then-heals",
    ),
    package(
        "force-deletes-terminating",
        "a clean-up job force-deletes pods that are Terminating for some seconds",
        force_deletes_terminating,
        "upgrade.downtime.cleanup-delayed",
        "drain.wrong-order.stuck-then-heals",
    ),
)
