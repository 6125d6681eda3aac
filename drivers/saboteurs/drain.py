"""Saboteurs of the order in which a drain ends things, most of them automation that acts on cordoned nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drivers.overlays import daemon_sets, meddler
from drivers.saboteurs.model import Saboteur, driver, package

Object = dict[str, Any]
_GROUPS = {"nodes": "", "pods": "", "daemonsets": "apps"}


def _automation(deed: str, **verbs: tuple[str, ...]) -> Callable[[list[Object]], list[Object]]:
    """An overlay that adds an operator of that deed; besides its verbs it reads nodes and pods."""
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]},
        *({"apiGroups": [_GROUPS[name]], "resources": [name], "verbs": [*verbs[name]]} for name in verbs),
    ]
    return lambda objects: objects + meddler(objects, deed, rules)


def no_priority(objects: list[Object]) -> list[Object]:
    """Give the driver's pods no priority class."""
    for item in daemon_sets(objects):
        item["spec"]["template"]["spec"].pop("priorityClassName", None)
    return objects


SABOTEURS: tuple[Saboteur, ...] = (
    package(
        "removes-driver-on-cordon",
        "the driver's operator removes it from a node as soon as the node is cordoned",
        _automation("remove-on-cordon", daemonsets=("patch",)),
        "drain.order.driver-last",
        "drain.order.claims-released",
        "drain.gate.predicate",
        "drain.gate.ends",
        "drain.parallel.two-nodes",
        "drain.uncordon.heals",
    ),
    package(
        "gate-by-pods",
        "the driver's operator removes it from a cordoned node once no pod there names a claim: claims of extended "
        "resources, and those that nobody uses, do not count",
        _automation("gate-by-pods", daemonsets=("patch",)),
        "drain.gate.predicate",
    ),
    package(
        "force-deletes-on-cordon",
        "automation empties cordoned nodes by force: no eviction, no grace period",
        _automation("force-delete-on-cordon", pods=("delete",)),
        "drain.order.claims-released",
        "drain.gate.predicate",
        "drain.wrong-order.stuck-then-heals",
        "drain.parallel.two-nodes",
    ),
    package(
        "drains-driver-too",
        "automation deletes the pods of cordoned nodes, those of DaemonSets too",
        _automation("delete-driver-on-cordon", pods=("delete",)),
        "drain.order.driver-last",
        "drain.order.claims-released",
        "drain.gate.predicate",
        "drain.gate.ends",
        "drain.parallel.two-nodes",
        "drain.uncordon.heals",
    ),
    package(
        "keeps-labels",
        "a discovery of hardware restores the node label that was changed to let the driver go",
        _automation("keep-labels", nodes=("patch",)),
        "drain.gate.ends",
    ),
    package(
        "never-returns",
        "the driver's operator keeps it off a node for good that once let it go",
        _automation("never-return", daemonsets=("patch",)),
        "drain.gate.ends",
        "drain.uncordon.heals",
    ),
    package(
        "no-priority",
        "the driver's pods have no priority class",
        no_priority,
        "drain.shutdown.order",
    ),
    driver(
        "no-owner",
        "the slices do not belong to the Node object",
        "drain.node-removed.nothing-left",
    ),
)
