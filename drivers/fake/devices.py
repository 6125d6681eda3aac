"""The devices of the node, changeable at run time and the same for all instances of the driver."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from drivers.fake.files import write_atomically

Health = Literal["Healthy", "Unhealthy", "Unknown"]
Taint = dict[str, str]

MODEL = "fake-1000"
FIRMWARE = "1.0.0"

_EFFECTS = ("None", "NoSchedule", "NoExecute")
_COUNT_MAX = 4096


@dataclass(frozen=True, slots=True)
class Device:
    """One device; `uuid` is unique in the cluster and stays the same for as long as the node has its name.

    `details` are in the words of a ResourceSlice: attributes beside those that each device has, capacity and so on.
    """

    name: str
    index: int
    uuid: str
    taints: tuple[Taint, ...]
    health: Health
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def spec(self) -> dict[str, Any]:
        """The device as a ResourceSlice lists it."""
        spec: dict[str, Any] = {
            **self.details,
            "name": self.name,
            "attributes": {
                "model": {"string": MODEL},
                "index": {"int": self.index},
                "uuid": {"string": self.uuid},
                "version": {"version": FIRMWARE},
                **self.details.get("attributes", {}),
            },
        }
        if self.taints:
            spec["taints"] = [dict(taint) for taint in self.taints]
        return spec


class Inventory:
    """The devices as a document, kept in a file next to the state:

    `{"count": 4, "taints": {"device-0": [{"key": "...", "value": "...", "effect": "NoSchedule"}]},
    "health": {"device-0": {"status": "Unhealthy", "message": "..."}}}`; what is left out is untainted and healthy.
    `specs` describe the first devices more closely; a taint that stands there is there always.
    """

    def __init__(self, path: Path, driver: str, node: str, count: int, specs: Sequence[Mapping[str, Any]] = ()) -> None:
        self._path = path
        self._driver = driver
        self._node = node
        self._count = count
        self._specs = specs
        self._changes = 0
        self._changed = threading.Condition()

    def document(self) -> dict[str, Any]:
        """The current document, with every key."""
        default = {"count": self._count, "taints": {}, "health": {}}
        try:
            return {**default, **json.loads(self._path.read_text())}
        except FileNotFoundError:
            return default

    def replace(self, document: Any) -> None:
        """Make `document` the current one, for every instance; raises ValueError when it is none."""
        _validate(document)
        write_atomically(self._path, json.dumps(document))
        self.wake()

    def devices(self) -> tuple[Device, ...]:
        """The devices, in order of their index."""
        document = self.document()
        return tuple(self._device(index, document) for index in range(document["count"]))

    def changes(self) -> int:
        """How often this process was told of a change; for `wait`."""
        return self._changes

    def wait(self, seen: int, timeout: float) -> int:
        """Block until `changes()` is past `seen`, at most `timeout` seconds; returns its value then."""
        with self._changed:
            self._changed.wait_for(lambda: self._changes > seen, timeout)
            return self._changes

    def wake(self) -> None:
        """Let everybody in `wait` look again."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def _device(self, index: int, document: dict[str, Any]) -> Device:
        spec = self._specs[index] if index < len(self._specs) else {"name": f"device-{index}"}
        name = spec["name"]
        health = document["health"].get(name, {})
        return Device(
            name=name,
            index=index,
            uuid=str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{index}.{self._node}.{self._driver}")),
            taints=(*spec.get("taints", ()), *document["taints"].get(name, ())),
            health=health.get("status", "Healthy"),
            message=health.get("message", ""),
            details={key: value for key, value in spec.items() if key != "taints"},
        )


def _validate(document: Any) -> None:
    if not isinstance(document, dict) or document.keys() - {"count", "taints", "health"}:
        raise ValueError("devices must be an object with the keys count, taints, health")
    count = document.get("count", 0)
    if not isinstance(count, int) or not 0 <= count <= _COUNT_MAX:
        raise ValueError(f"count must be a number up to {_COUNT_MAX}")
    for name, taints in document.get("taints", {}).items():
        for taint in taints:
            if taint.keys() - {"key", "value", "effect"} or taint.get("effect") not in _EFFECTS or "key" not in taint:
                raise ValueError(f"taint of {name} needs a key and an effect out of {', '.join(_EFFECTS)}: {taint}")
    for name, health in document.get("health", {}).items():
        if health.keys() - {"status", "message"} or health.get("status") not in get_args(Health):
            raise ValueError(f"health of {name} needs a status out of {', '.join(get_args(Health))}: {health}")
