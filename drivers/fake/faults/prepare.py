"""Faults in how claims are prepared and unprepared."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager

from drivers.fake.behaviour import Behaviour
from drivers.fake.cdi import variable
from drivers.fake.faults.registry import dawdle, fault
from drivers.fake.state import HeldDevice

SLOW_PREPARE_SECONDS = 2.0


@fault("empty-cdi")
class _EmptyCdi(Behaviour):
    """The CDI edits carry nothing of the device."""

    def environment(self, driver: str, device: HeldDevice, all_devices: Sequence[str]) -> dict[str, str]:  # noqa: ARG002
        return {"PREPARED": "true"}


@fault("wrong-device")
class _WrongDevice(Behaviour):
    """The variable in the container names another device of the node than the allocated one."""

    def environment(self, driver: str, device: HeldDevice, all_devices: Sequence[str]) -> dict[str, str]:
        name, _ = variable(driver, device.pool, device.device)
        other = next((other for other in all_devices if other != device.device), f"not-{device.device}")
        return {name: variable(driver, device.pool, other)[1]}


@fault("device-on-all-containers")
class _DeviceOnAllContainers(Behaviour):
    """The answer to prepare names no request, so every container with the claim gets all of its devices."""

    def request_names(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        return ()


@fault("keeps-cdi")
class _KeepsCdi(Behaviour):
    """Unprepare leaves the CDI file of the claim."""

    def removes_cdi(self, known: bool) -> bool:  # noqa: ARG002
        return False


@fault("keeps-device")
class _KeepsDevice(Behaviour):
    """Unprepare succeeds, but the device stays held by the claim."""

    def frees_device(self, claim_uid: str) -> bool:  # noqa: ARG002
        return False


@fault("no-exclusivity")
class _NoExclusivity(Behaviour):
    """A device that another claim holds is handed out again."""

    def excludes(self, wanted: HeldDevice, held: HeldDevice) -> bool:  # noqa: ARG002
        return False


@fault("slow-prepare")
class _SlowPrepare(Behaviour):
    """Preparing a claim takes two seconds."""

    def before_prepare(self) -> None:
        super().before_prepare()
        dawdle(SLOW_PREPARE_SECONDS)


@fault("serializes-calls")
class _SerializesCalls(Behaviour):
    """One call at a time: the others wait, those of the health check too."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def turn(self) -> AbstractContextManager[object]:
        return self._lock
