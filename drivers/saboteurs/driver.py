"""Saboteurs of a driver's deployment, slices, prepare and unprepare."""

from __future__ import annotations

from typing import Any

from drivers.overlays import daemon_sets
from drivers.saboteurs.model import Saboteur, driver, package

Object = dict[str, Any]


def wrong_selector(objects: list[Object]) -> list[Object]:
    """Forget the node selector: the driver lands on every node."""
    for item in daemon_sets(objects):
        item["spec"]["template"]["spec"].pop("nodeSelector", None)
    return objects


SABOTEURS: tuple[Saboteur, ...] = (
    driver(
        "registers-once",
        "GetInfo answers the kubelet once; after a kubelet restart the driver stays unknown",
        "driver.registration.registers",
        "liveness.restart.not-spurious",
    ),
    driver(
        "stale-slice",
        "an outdated slice of an older generation stays in the pool",
        "driver.slices.published",
        "liveness.restart.hung",
        "liveness.restart.crashed",
        "liveness.restart.socket-lost",
        "liveness.outside.supervised",
    ),
    driver(
        "shared-pool-name",
        "the pool has the same name on every node",
        "driver.slices.pool-per-node",
        "driver.capacity.every-device-allocatable",
        "liveness.restart.hung",
        "liveness.restart.crashed",
        "liveness.restart.socket-lost",
        "liveness.restart.pods-untouched",
    ),
    driver(
        "keeps-device",
        "unprepare answers well, yet the device stays held",
        "driver.capacity.every-device-allocatable",
        "driver.unprepare.releases",
        "upgrade.seamless.new-pods-start",
        "liveness.restart.pods-untouched",
        "liveness.restart.not-spurious",
        "drain.order.driver-last",
        "drain.order.claims-released",
        "drain.gate.predicate",
        "drain.gate.ends",
        "drain.wrong-order.stuck-then-heals",
        "drain.parallel.two-nodes",
        "drain.uncordon.heals",
        "drain.node-removed.nothing-left",
    ),
    driver(
        "empty-cdi",
        "the CDI spec carries no device",
        "driver.prepare.device-visible",
    ),
    driver(
        "wrong-device",
        "the container gets another device than the allocated one",
        "driver.prepare.device-visible",
        "driver.prepare.isolation",
    ),
    driver(
        "device-on-all-containers",
        "the answer to prepare names no request, so each container gets all devices of the claim",
        "driver.prepare.isolation",
    ),
    driver(
        "keeps-cdi",
        "unprepare leaves the claim's CDI file behind",
        "driver.unprepare.releases",
        "drain.order.claims-released",
        "drain.node-removed.nothing-left",
    ),
    package(
        "wrong-selector",
        "the DaemonSet has lost its node selector: the driver runs on nodes without devices too",
        wrong_selector,
        "driver.deployment.placement",
    ),
)
