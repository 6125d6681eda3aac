"""Saboteurs of a driver's update, and of its absence."""

from __future__ import annotations

import copy
from typing import Any

from drivers.overlays import daemon_sets, operator
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
    return objects + operator(
        objects, "force-delete", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "delete"]}]
    )


SABOTEURS: tuple[Saboteur, ...] = (
    Saboteur(
        "fixed-sockets",
        "driver",
        "two versions overlap with the same socket names: the one that leaves removes the newcomer's, unnoticed",
        ("upgrade.seamless.new-pods-start", "upgrade.seamless.slices-continuous"),
        faults=("fixed-sockets", "always-serving"),
    ),
    driver(
        "deletes-slices-on-stop",
        "a driver that stops deletes its slices, though the next version serves already",
        "upgrade.seamless.slices-continuous",
    ),
    package(
        "no-surge",
        "the DaemonSet stops the old version before it starts the new one",
        no_surge,
        "upgrade.seamless.new-pods-start",
    ),
    package(
        "second-installation",
        "an older installation of the driver was never removed and serves on",
        second_installation,
        "upgrade.downtime.unprepared-claim-waits",
        "upgrade.downtime.cleanup-delayed",
    ),
    package(
        "force-deletes-terminating",
        "a clean-up job force-deletes pods that are Terminating for some seconds",
        force_deletes_terminating,
        "upgrade.downtime.cleanup-delayed",
    ),
)
