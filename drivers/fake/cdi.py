"""CDI specs: how a prepared device gets into a container."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drivers.fake.files import write_atomically

CDI_VERSION = "0.6.0"
CLASS = "device"


def variable(driver: str, pool: str, device: str) -> tuple[str, str]:
    """Name and value of the variable that shows a device inside a container; the name is unique to the device."""
    value = f"{driver}/{pool}/{device}"
    return f"DRA_FAKE_{hashlib.sha256(value.encode()).hexdigest()[:12].upper()}", value


class CdiDirectory:
    """The specs of one driver: one file per claim, one CDI device per allocated device.

    `by_node`: what a variable would hold is the path of a device node below `/dev/fake` instead.
    """

    def __init__(self, directory: Path, driver: str, *, by_node: bool = False) -> None:
        self._by_node = by_node
        self._directory = directory
        self._kind = f"{driver}/{CLASS}"
        self._prefix = driver

    def path(self, claim_uid: str) -> Path:
        """The file of a claim."""
        return self._directory / f"{self._prefix}-{claim_uid}.json"

    def write(self, claim_uid: str, environments: Sequence[Mapping[str, str]]) -> list[str]:
        """Write the spec of a claim; returns one CDI device id per environment, in the same order."""
        names = [f"{claim_uid}-{index}" for index in range(len(environments))]
        spec = {
            "cdiVersion": CDI_VERSION,
            "kind": self._kind,
            "devices": [
                {"name": name, "containerEdits": self._edits(environment)}
                for name, environment in zip(names, environments, strict=True)
            ],
        }
        self._directory.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path(claim_uid), json.dumps(spec, indent=1))
        return [f"{self._kind}={name}" for name in names]

    def _edits(self, environment: Mapping[str, str]) -> dict[str, Any]:
        if not self._by_node:
            return {"env": [f"{key}={value}" for key, value in environment.items()]}
        null = {"hostPath": "/dev/null", "type": "c", "major": 1, "minor": 3}
        return {"deviceNodes": [{"path": f"/dev/fake/{value}", **null} for value in environment.values()]}

    def remove(self, claim_uid: str) -> None:
        """Remove the spec of a claim, if there is one."""
        self.path(claim_uid).unlink(missing_ok=True)
