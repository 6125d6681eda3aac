"""The registry of saboteurs: planted faults that prove that the checks can fail.

`python -m drivers.saboteurs` lists them, `--json` for machines.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from drivers import overlays

Object = dict[str, Any]
Layer = Literal["driver", "package", "cluster"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to an object that the cluster already has; undone when the saboteur leaves."""

    kind: str
    name: str
    change: Callable[[Object], Object]


@dataclass(frozen=True, slots=True)
class Saboteur:
    """One planted fault and every check that it makes fail.

    Layer `driver`: `faults` are switches of the fake driver. Layer `package`: `overlay` changes the driver's
    manifests. Layer `cluster`: `objects` are created in the cluster and `edits` made to it.
    """

    id: str
    layer: Layer
    plants: str
    breaks: tuple[str, ...]
    faults: tuple[str, ...] = ()
    overlay: Callable[[list[Object]], list[Object]] | None = None
    objects: tuple[Object, ...] = ()
    edits: tuple[Edit, ...] = ()


def _driver(fault: str, plants: str, *breaks: str) -> Saboteur:
    return Saboteur(fault, "driver", plants, breaks, faults=(fault,))


def _package(id: str, plants: str, overlay: Callable[[list[Object]], list[Object]], *breaks: str) -> Saboteur:  # noqa: A002
    return Saboteur(id, "package", plants, breaks, overlay=overlay)


_ALL = (
    _driver(
        "registers-once",
        "GetInfo answers the kubelet once; after a kubelet restart the driver stays unknown",
        "driver.registration.registers",
    ),
    _driver(
        "stale-slice",
        "an outdated slice of an older generation stays in the pool",
        "driver.slices.published",
    ),
    _driver(
        "shared-pool-name",
        "the pool has the same name on every node",
        "driver.slices.pool-per-node",
        "driver.capacity.every-device-allocatable",
    ),
    _driver(
        "keeps-device",
        "unprepare answers well, yet the device stays held",
        "driver.capacity.every-device-allocatable",
        "driver.unprepare.releases",
        "upgrade.seamless.new-pods-start",
    ),
    _driver(
        "empty-cdi",
        "the CDI spec carries no device",
        "driver.prepare.device-visible",
    ),
    _driver(
        "wrong-device",
        "the container gets another device than the allocated one",
        "driver.prepare.device-visible",
        "driver.prepare.isolation",
    ),
    _driver(
        "device-on-all-containers",
        "the answer to prepare names no request, so each container gets all devices of the claim",
        "driver.prepare.isolation",
    ),
    _driver(
        "keeps-cdi",
        "unprepare leaves the claim's CDI file behind",
        "driver.unprepare.releases",
    ),
    Saboteur(
        "fixed-sockets",
        "driver",
        "two versions overlap with the same socket names: the one that leaves removes the newcomer's, unnoticed",
        ("upgrade.seamless.new-pods-start", "upgrade.seamless.slices-continuous"),
        faults=("fixed-sockets", "always-serving"),
    ),
    _driver(
        "deletes-slices-on-stop",
        "a driver that stops deletes its slices, though the next version serves already",
        "upgrade.seamless.slices-continuous",
    ),
    _driver(
        "health-in-other-process",
        "the health answer comes from another process than the one that serves",
        "liveness.restart.hung",
    ),
    _driver(
        "no-metrics",
        "the driver does not expose its DRA metrics",
        "scale.metrics.exposed",
    ),
    _package(
        "wrong-selector",
        "the DaemonSet has lost its node selector: the driver runs on nodes without devices too",
        overlays.wrong_selector,
        "driver.deployment.placement",
    ),
    _package(
        "no-surge",
        "the DaemonSet stops the old version before it starts the new one",
        overlays.no_surge,
        "upgrade.seamless.new-pods-start",
    ),
    _package(
        "no-probe",
        "the DaemonSet has no liveness probe",
        overlays.no_probe,
        "liveness.probe.declared",
        "liveness.restart.hung",
    ),
    _package(
        "second-installation",
        "an older installation of the driver was never removed and serves on",
        overlays.second_installation,
        "upgrade.downtime.unprepared-claim-waits",
        "upgrade.downtime.cleanup-delayed",
    ),
    _package(
        "force-deletes-terminating",
        "a clean-up job force-deletes pods that are Terminating for some seconds",
        overlays.force_deletes_terminating,
        "upgrade.downtime.cleanup-delayed",
    ),
    _package(
        "removes-driver-on-cordon",
        "the driver's operator removes it from a node as soon as the node is cordoned",
        overlays.removes_driver_on_cordon,
        "drain.order.driver-last",
    ),
    Saboteur(
        "edit-without-templates",
        "cluster",
        "the role for operators lacks ResourceClaimTemplates",
        ("rbac.operator.manages-claims",),
        edits=(Edit("ClusterRole", "system:aggregate-to-edit", overlays.without_templates),),
    ),
    Saboteur(
        "everyone-writes-deviceclasses",
        "cluster",
        "a stray binding lets every authenticated user write DeviceClasses",
        ("rbac.operator.no-deviceclass-write",),
        objects=overlays.group_binding("system:authenticated", "deviceclasses"),
    ),
    Saboteur(
        "service-accounts-write-slices",
        "cluster",
        "a stray binding lets every ServiceAccount write ResourceSlices",
        ("rbac.operator.no-resourceslice-write",),
        objects=overlays.group_binding("system:serviceaccounts", "resourceslices"),
    ),
)

REGISTRY = {saboteur.id: saboteur for saboteur in _ALL}


def main() -> None:
    """List the saboteurs."""
    parser = argparse.ArgumentParser(prog="python -m drivers.saboteurs", description=main.__doc__)
    parser.add_argument("--json", action="store_true", help="for machines")
    rows = [{"id": s.id, "layer": s.layer, "plants": s.plants, "breaks": s.breaks} for s in REGISTRY.values()]
    if parser.parse_args().json:
        print(json.dumps(rows, indent=2))
        return
    for s in REGISTRY.values():
        print(f"{s.id}  ({s.layer})\n    plants: {s.plants}\n    breaks: {', '.join(s.breaks)}")


if __name__ == "__main__":
    main()
