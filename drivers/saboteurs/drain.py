"""Saboteurs of the order in which a drain ends things."""

from __future__ import annotations

from typing import Any

from drivers.overlays import operator
from drivers.saboteurs.model import Saboteur, package

Object = dict[str, Any]


def removes_driver_on_cordon(objects: list[Object]) -> list[Object]:
    """Add an operator that takes the driver off cordoned nodes."""
    return objects + operator(
        objects,
        "remove-on-cordon",
        [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
            {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["patch"]},
        ],
    )


SABOTEURS: tuple[Saboteur, ...] = (
    package(
        "removes-driver-on-cordon",
        "the driver's operator removes it from a node as soon as the node is cordoned",
        removes_driver_on_cordon,
        "drain.order.driver-last",
    ),
)
