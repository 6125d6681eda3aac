"""Saboteurs of the liveness probe and of what follows from it."""

from __future__ import annotations

from typing import Any

from drivers.overlays import containers
from drivers.saboteurs.model import Saboteur, driver, package
from drivers.service import without_supervision

Object = dict[str, Any]
SELDOM = 60
"""Seconds between the questions of a probe that always fails: a restart by it comes after any check."""


def no_probe(objects: list[Object]) -> list[Object]:
    """Leave out every liveness probe."""
    for container in containers(objects):
        container.pop("livenessProbe", None)
    return objects


def wrong_port(objects: list[Object]) -> list[Object]:
    """Let the liveness probe ask a port on which nothing listens."""
    for container in containers(objects):
        container["livenessProbe"] |= {"grpc": {"port": 9999}, "periodSeconds": SELDOM}
    return objects


def health_switched_off(objects: list[Object]) -> list[Object]:
    """Switch the health service off by its port, as some charts do by default; the liveness probe stays."""
    for container in containers(objects):
        container["env"].append({"name": "HEALTH_PORT", "value": "-1"})
        container.pop("startupProbe", None)
        container["livenessProbe"]["periodSeconds"] = SELDOM
    return objects


def probe_too_tight(objects: list[Object]) -> list[Object]:
    """Give up on a driver that has not answered for some seconds."""
    for container in containers(objects):
        container["livenessProbe"] |= {"periodSeconds": 3, "timeoutSeconds": 2, "failureThreshold": 2}
    return objects


PROBED = (
    "liveness.probe.truthful",
    "liveness.restart.hung",
    "liveness.restart.socket-lost",
    "liveness.restart.pods-untouched",
)
UNPROBED = ("liveness.probe.declared", *PROBED, "liveness.restart.not-spurious")

SABOTEURS: tuple[Saboteur, ...] = (
    driver(
        "health-in-other-process",
        "the health answer comes from another process than the one that serves",
        *PROBED,
    ),
    driver(
        "always-serving",
        "the health answer is always SERVING",
        "liveness.probe.truthful",
        "liveness.restart.socket-lost",
        "liveness.outside.supervised",
    ),
    driver(
        "health-ignores-registration",
        "the health check calls the DRA socket only",
        "liveness.probe.truthful",
    ),
    driver(
        "health-ignores-hang",
        "the health check looks whether the sockets are there, and calls none",
        "liveness.probe.truthful",
    ),
    driver(
        "unhealthy-when-reregistered",
        "the driver takes a second registration, as after a restart of the kubelet, for a failure of its own",
        "liveness.restart.not-spurious",
    ),
    driver(
        "unhealthy-under-load",
        "the health answer turns bad once the driver has prepared many claims",
        "liveness.restart.not-spurious",
    ),
    driver(
        "stale-socket-blocks-start",
        "the driver does not start while the sockets of one that was killed are there",
        "liveness.restart.hung",
        "liveness.restart.crashed",
        "liveness.restart.pods-untouched",
        "liveness.outside.supervised",
    ),
    package(
        "no-probe",
        "the DaemonSet has no liveness probe",
        no_probe,
        *UNPROBED,
    ),
    package(
        "wrong-port",
        "the liveness probe asks a port on which nothing listens",
        wrong_port,
        *UNPROBED,
    ),
    package(
        "health-switched-off",
        "the health service is off: its port is -1",
        health_switched_off,
        *UNPROBED,
    ),
    Saboteur(
        "unit-without-supervision",
        "package",
        "the systemd unit of a driver outside pods has neither watchdog nor restart",
        ("liveness.outside.supervised",),
        unit=without_supervision,
    ),
    package(
        "probe-too-tight",
        "the liveness probe gives up on a driver that does not answer for some seconds",
        probe_too_tight,
        "liveness.restart.not-spurious",
    ),
)
