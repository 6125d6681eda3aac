"""What a saboteur is: a planted fault, with every check that it makes fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Object = dict[str, Any]
Layer = Literal["driver", "package", "cluster"]
Component = Literal["kube-controller-manager", "kube-scheduler"]


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
    manifests, or `unit` the systemd unit of one that runs outside pods. Layer `cluster`: in the cluster of a
    `topology` `objects` are created, `edits` made, and components of the control plane get other `flags`.
    """

    id: str
    layer: Layer
    plants: str
    breaks: tuple[str, ...]
    faults: tuple[str, ...] = ()
    overlay: Callable[[list[Object]], list[Object]] | None = None
    unit: Callable[[str], str] | None = None
    objects: tuple[Object, ...] = ()
    edits: tuple[Edit, ...] = ()
    flags: Mapping[Component, Mapping[str, str]] = field(default_factory=dict)
    topology: str = "standard"

    @property
    def under_load(self) -> bool:
        """Whether only checks that measure load can see it."""
        return all(check.startswith("scale.") for check in self.breaks) and self.breaks != ("scale.metrics.exposed",)


def driver(fault: str, plants: str, *breaks: str) -> Saboteur:
    """One switch of the fake driver."""
    return Saboteur(fault, "driver", plants, breaks, faults=(fault,))


def package(id: str, plants: str, overlay: Callable[[list[Object]], list[Object]], *breaks: str) -> Saboteur:  # noqa: A002
    """A change to the driver's manifests."""
    return Saboteur(id, "package", plants, breaks, overlay=overlay)
