"""The pool of ResourceSlices that should be published, and what must change for that. No API access here.

Follows the Go helper (`resourceslicecontroller.go`): the Node owns the slices; the generation stays when one update is
enough and rises otherwise; obsolete slices go first. Names are fixed instead of generated, so that two overlapping
instances never publish a slice twice.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drivers.fake.devices import Device
from drivers.fake.kube import Object

DEVICES_PER_SLICE = 128
DEVICES_PER_SLICE_WITH_EXTRAS = 64
"""Where any of them has taints or consumes counters."""
NAME_MAX = 253


@dataclass(frozen=True, slots=True)
class PoolChanges:
    """Changes that make the published slices the desired ones; `generation` is the pool's afterwards."""

    generation: int
    deletes: tuple[str, ...]
    updates: tuple[Object, ...]
    creates: tuple[Object, ...]

    @property
    def empty(self) -> bool:
        """Whether all is as it should be."""
        return not (self.deletes or self.updates or self.creates)


@dataclass(frozen=True, slots=True)
class Pool:
    """The desired pool: one tuple of devices per slice. `count` is the slice count that is claimed for it.

    Counter sets have a slice of their own, the last: since Kubernetes 1.35 none has both.
    """

    name: str
    driver: str
    node: str
    parts: tuple[tuple[Object, ...], ...]
    count: int
    labels: Mapping[str, str] = field(default_factory=dict)
    shared_counters: tuple[Mapping[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """The number of slices that it has."""
        return len(self.parts) + bool(self.shared_counters)

    def slice_name(self, index: int) -> str:
        """The object name of a slice."""
        name = f"{index:05x}-{self.driver}-{self.node}"
        return name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 9].rstrip('.-')}-{zlib.crc32(name.encode()):08x}"

    def spec(self, index: int, generation: int) -> Object:
        """The spec of a slice."""
        spec: Object = {
            "driver": self.driver,
            "nodeName": self.node,
            "pool": {"name": self.name, "generation": generation, "resourceSliceCount": self.count},
        }
        if index < len(self.parts):
            return {**spec, "devices": list(self.parts[index])}
        return {**spec, "sharedCounters": list(self.shared_counters)}

    def body(self, index: int, generation: int, owners: list[Object]) -> Object:
        """A new slice."""
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {
                "name": self.slice_name(index),
                "labels": dict(self.labels),
                "ownerReferences": owners,
            },
            "spec": self.spec(index, generation),
        }


def split(devices: Sequence[Device]) -> tuple[tuple[Object, ...], ...]:
    """The devices in portions that fit into one slice each; without devices there is one empty portion."""
    extras = any(device.taints or "consumesCounters" in device.details for device in devices)
    size = DEVICES_PER_SLICE_WITH_EXTRAS if extras else DEVICES_PER_SLICE
    specs = [device.spec() for device in devices]
    return tuple(tuple(specs[start : start + size]) for start in range(0, max(len(specs), 1), size))


def pool_changes(existing: Sequence[Object], pool: Pool, owners: list[Object], generation_seen: int) -> PoolChanges:
    """What to change; `generation_seen` is the highest generation known from slices that may be gone by now."""
    wanted = {pool.slice_name(index): index for index in range(pool.size)}
    current = {s["metadata"]["name"]: s for s in existing if _is_of(s, pool) and s["metadata"]["name"] in wanted}
    generation = max([generation_seen, *(s["spec"]["pool"]["generation"] for s in current.values())])
    changed = [name for name, s in current.items() if not _as_wanted(s, pool.spec(wanted[name], generation), owners)]
    missing = [name for name in wanted if name not in current]
    if missing or len(changed) > 1:
        generation += 1
        changed = list(current)
    return PoolChanges(
        generation=generation,
        deletes=tuple(s["metadata"]["name"] for s in existing if s["metadata"]["name"] not in current),
        updates=tuple(_updated(current[name], pool.spec(wanted[name], generation), owners) for name in changed),
        creates=tuple(pool.body(wanted[name], generation, owners) for name in missing),
    )


def _is_of(item: Object, pool: Pool) -> bool:
    """Pool name, driver and node of a slice cannot be changed."""
    return bool(item["spec"]["pool"]["name"] == pool.name)


def _as_wanted(item: Object, spec: Object, owners: list[Object]) -> bool:
    return _comparable(item["spec"]) == _comparable(spec) and item["metadata"].get("ownerReferences", []) == owners


def _comparable(spec: Object) -> Object:
    """A spec without what the API server adds: the time of a taint."""
    devices = copy.deepcopy(spec.get("devices") or [])
    for device in devices:
        for taint in device.get("taints", ()):
            taint.pop("timeAdded", None)
    return {**spec, "devices": devices}


def _updated(item: Object, spec: Object, owners: list[Object]) -> Object:
    """The slice with the wanted spec; a taint that stays keeps its time."""
    times = {
        (device["name"], taint["key"], taint.get("value"), taint["effect"]): taint["timeAdded"]
        for device in item["spec"].get("devices") or ()
        for taint in device.get("taints", ())
        if "timeAdded" in taint
    }
    spec = copy.deepcopy(spec)
    for device in spec.get("devices", ()):
        for taint in device.get("taints", ()):
            if added := times.get((device["name"], taint["key"], taint.get("value"), taint["effect"])):
                taint["timeAdded"] = added
    return {**item, "metadata": {**item["metadata"], "ownerReferences": owners}, "spec": spec}
