"""The planted faults, by id, and the switches that turn them on, at the start (FAULTS) or at run time.

`FAULTS` is the registry. Some faults decide how the process starts and cannot be changed later (`at_start`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from drivers.fake import sockets
from drivers.fake.behaviour import Behaviour
from drivers.fake.cdi import variable
from drivers.fake.health import HealthServer
from drivers.fake.injection import RpcError, Rules
from drivers.fake.settings import Settings
from drivers.fake.state import HeldDevice, MemoryStore, Store

if TYPE_CHECKING:
    from drivers.fake.kube import Object
    from drivers.fake.metrics import Metrics
    from drivers.fake.pool import Plan, Pool
    from drivers.fake.slices import SlicePublisher

SLOW_PREPARE_SECONDS = 2.0
SLOW_GET_INFO_SECONDS = 1.5
SLOW_GET_INFO_FOR_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: one line on what is wrong, and the behaviour that differs."""

    description: str
    behaviour: type[Behaviour]
    at_start: bool


FAULTS: dict[str, Fault] = {}


def _fault(name: str, at_start: bool = False) -> Callable[[type[Behaviour]], type[Behaviour]]:
    def register(behaviour: type[Behaviour]) -> type[Behaviour]:
        assert behaviour.__doc__
        FAULTS[name] = Fault(behaviour.__doc__, behaviour, at_start)
        return behaviour

    return register


@_fault("registers-once")
class _RegistersOnce(Behaviour):
    """GetInfo answers until the kubelet has registered this process once, and fails ever after."""

    def before_get_info(self, registered: bool, age: float) -> None:
        super().before_get_info(registered, age)
        if registered:
            raise RpcError(grpc.StatusCode.FAILED_PRECONDITION, "registered before (planted: registers-once)")


@_fault("getinfo-slow")
class _GetInfoSlow(Behaviour):
    """GetInfo takes longer than the kubelet waits, for the first 20 seconds of the process."""

    def before_get_info(self, registered: bool, age: float) -> None:
        super().before_get_info(registered, age)
        if age < SLOW_GET_INFO_FOR_SECONDS:
            _wait(SLOW_GET_INFO_SECONDS)


@_fault("stale-slice")
class _StaleSlice(Behaviour):
    """A slice of an older generation stays in the pool, beside the complete current one."""

    def amend(self, plan: Plan, pool: Pool, existing: Sequence[Object], owner: Object) -> Plan:
        plan = super().amend(plan, pool, existing, owner)
        body = pool.body(0, 0, owner)
        name = body["metadata"]["name"] = f"relic-{pool.slice_name(0)}"
        stands = any(item["metadata"]["name"] == name for item in existing)
        return replace(
            plan,
            deletes=tuple(other for other in plan.deletes if other != name),
            creates=plan.creates if stands else (body, *plan.creates),
        )


@_fault("wrong-slice-count")
class _WrongSliceCount(Behaviour):
    """The pool is said to have one slice more than it has, so it never becomes complete."""

    def slice_count(self, count: int) -> int:
        return super().slice_count(count) + 1


@_fault("shared-pool-name")
class _SharedPoolName(Behaviour):
    """The pool is named after the driver on each node."""

    def pool_name(self, settings: Settings) -> str:
        return settings.driver_name


@_fault("empty-cdi")
class _EmptyCdi(Behaviour):
    """The CDI edits carry nothing of the device."""

    def environment(self, driver: str, device: HeldDevice, all_devices: Sequence[str]) -> dict[str, str]:  # noqa: ARG002
        return {"PREPARED": "true"}


@_fault("wrong-device")
class _WrongDevice(Behaviour):
    """The variable in the container names another device of the node than the allocated one."""

    def environment(self, driver: str, device: HeldDevice, all_devices: Sequence[str]) -> dict[str, str]:
        name, _ = variable(driver, device.pool, device.device)
        other = next((other for other in all_devices if other != device.device), f"not-{device.device}")
        return {name: variable(driver, device.pool, other)[1]}


@_fault("device-on-all-containers")
class _DeviceOnAllContainers(Behaviour):
    """The answer to prepare names no request, so every container with the claim gets all of its devices."""

    def request_names(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        return ()


@_fault("keeps-cdi")
class _KeepsCdi(Behaviour):
    """Unprepare leaves the CDI file of the claim."""

    def removes_cdi(self, known: bool) -> bool:  # noqa: ARG002
        return False


@_fault("keeps-device")
class _KeepsDevice(Behaviour):
    """Unprepare succeeds, but the device stays held by the claim."""

    def frees_device(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class _UnguardedListener:
    path: Path

    def withdraw(self) -> None:
        self.path.unlink(missing_ok=True)


@_fault("fixed-sockets", at_start=True)
class _FixedSockets(Behaviour):
    """Socket names without the pod UID: the newcomer takes them over, the leaving instance removes the newcomer's."""

    def seamless(self, settings: Settings) -> bool:  # noqa: ARG002
        return False

    def listen(self, server: grpc.Server, path: Path, lock: Path) -> sockets.Listener:  # noqa: ARG002
        server.add_insecure_port(f"unix:{path}")
        server.start()
        return _UnguardedListener(path)


@_fault("deletes-slices-on-stop")
class _DeletesSlicesOnStop(Behaviour):
    """Slices are deleted when the driver stops."""

    def on_stop(self, publisher: SlicePublisher) -> None:
        super().on_stop(publisher)
        publisher.delete_all()


class _OtherProcess:
    """A process that answers SERVING until this one is gone: it notices by the end of its standard input."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "drivers.fake.health", str(self._port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


@_fault("health-in-other-process", at_start=True)
class _HealthInOtherProcess(Behaviour):
    """The health probe is answered by another process, which says SERVING whatever happens to the driver."""

    def health_server(self, port: int, serving: Callable[[], bool]) -> HealthServer:  # noqa: ARG002
        return _OtherProcess(port)


@_fault("always-serving")
class _AlwaysServing(Behaviour):
    """The health probe is answered SERVING without a look at the sockets."""

    def serving(self, check: Callable[[], bool]) -> bool:  # noqa: ARG002
        return True


@_fault("no-metrics")
class _NoMetrics(Behaviour):
    """The driver's own metrics are not exposed."""

    def metrics_text(self, metrics: Metrics) -> bytes:  # noqa: ARG002
        return b""


@_fault("state-in-memory", at_start=True)
class _StateInMemory(Behaviour):
    """Prepared claims are forgotten with the process, and what is forgotten is not cleaned up."""

    def store(self, path: Path, file_format: int) -> Store:  # noqa: ARG002
        return MemoryStore()

    def removes_cdi(self, known: bool) -> bool:
        return known and super().removes_cdi(known)


@_fault("no-exclusivity")
class _NoExclusivity(Behaviour):
    """A device that another claim holds is handed out again."""

    def excludes(self, wanted: HeldDevice, held: HeldDevice) -> bool:  # noqa: ARG002
        return False


@_fault("slow-prepare")
class _SlowPrepare(Behaviour):
    """Preparing a claim takes two seconds."""

    def before_prepare(self) -> None:
        super().before_prepare()
        _wait(SLOW_PREPARE_SECONDS)


def _wait(seconds: float) -> None:
    time.sleep(seconds)  # noqa: TID251


class Switches:
    """Which faults are planted in this process, and which rules are injected into its calls."""

    def __init__(self, planted: Iterable[str] = ()) -> None:
        self.rules = Rules()
        self._planted = _known(planted)
        self._behaviour = _combined(self._planted)

    @property
    def behaviour(self) -> Behaviour:
        """How to behave now."""
        return self._behaviour

    @property
    def planted(self) -> tuple[str, ...]:
        """The ids of the planted faults."""
        return self._planted

    def plant(self, ids: Iterable[str]) -> None:
        """Replace the planted faults; raises ValueError for unknown ones and for changes only a start can make."""
        planted = _known(ids)
        if fixed := sorted(name for name in set(planted) ^ set(self._planted) if FAULTS[name].at_start):
            raise ValueError(f"{', '.join(fixed)} can only be planted by FAULTS, when the driver starts")
        self._planted, self._behaviour = planted, _combined(planted)


def _known(ids: Iterable[str]) -> tuple[str, ...]:
    planted = tuple(dict.fromkeys(ids))
    if unknown := [name for name in planted if name not in FAULTS]:
        raise ValueError(f"unknown fault {', '.join(unknown)}; known are {', '.join(sorted(FAULTS))}")
    return planted


def _combined(planted: Sequence[str]) -> Behaviour:
    if not planted:
        return Behaviour()
    combined: type[Behaviour] = type("Faulty", tuple(FAULTS[name].behaviour for name in planted), {})
    return combined()
