"""Saboteurs of the liveness probe and of what follows from it."""

from __future__ import annotations

from typing import Any

from drivers.overlays import daemon_sets
from drivers.saboteurs.model import Saboteur, driver, package

Object = dict[str, Any]


def no_probe(objects: list[Object]) -> list[Object]:
    """Leave out every liveness probe."""
    for item in daemon_sets(objects):
        for container in item["spec"]["template"]["spec"]["containers"]:
            container.pop("livenessProbe", None)
    return objects


SABOTEURS: tuple[Saboteur, ...] = (
    driver(
        "health-in-other-process",
        "the health answer comes from another process than the one that serves",
        "liveness.restart.hung",
    ),
    package(
        "no-probe",
        "the DaemonSet has no liveness probe",
        no_probe,
        "liveness.probe.declared",
        "liveness.restart.hung",
    ),
)
