"""Each planted fault shows its effect, and a healthy driver does not."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import grpc
import pytest

from drivers.fake.faults import FAULTS

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Instance, Node

Shown = Callable[["Node", tuple[str, ...]], bool]
SHOWN: dict[str, Shown] = {}


def shows(fault: str) -> Callable[[Shown], Shown]:
    """Mark a function that runs a driver with the given faults and tells whether the effect is seen."""

    def register(shown: Shown) -> Shown:
        SHOWN[fault] = shown
        return shown

    return register


@shows("registers-once")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    driver.get_info()
    driver.notify()
    assert driver.health() == "SERVING"
    try:
        driver.get_info()
    except grpc.RpcError:
        return True
    return False


@shows("getinfo-slow")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    assert driver.health() == "SERVING"
    try:
        driver.get_info(timeout=1)
    except grpc.RpcError:
        return True
    return False


@shows("ready-before-registered")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    old = node.start()
    driver = node.start(faults=faults)
    seen = (driver.http("/ready")[0], driver.health(), driver.registration.exists())
    old.end()
    assert driver.registration.exists() != bool(faults)
    node.until(driver.registration.exists)
    assert driver.health() == "SERVING"
    return seen == (200, "SERVING", False)


@shows("dies-after-registration")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.spawn(wait=False, faults=faults)
    node.until(driver.registration.exists)
    assert driver.service.exists() != bool(faults)
    driver.notify()
    assert driver.process is not None
    try:
        return driver.process.wait(timeout=1) == 1
    except subprocess.TimeoutExpired:
        assert driver.http("/ready")[0] == 200
        return False


@shows("never-reregisters")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    first = node.start(faults=faults)
    first.notify()
    overlapping = node.start(faults=faults)
    assert overlapping.registration.exists()
    overlapping.notify()
    first.end()
    overlapping.end()
    last = node.start(faults=faults)
    assert last.health() == "SERVING"
    return last.http("/ready")[0] == 200 and not last.registration.exists()


@shows("stale-slice")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    specs = node.pool(slices=len(faults) + 1)
    driver.inject(planted=faults)
    generations = sorted(spec["pool"]["generation"] for spec in specs)
    assert generations[-1] == 1
    assert all(spec["pool"]["resourceSliceCount"] == 1 for spec in specs)
    return bool(generations[0] == 0)


@shows("wrong-slice-count")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    node.start(faults=faults)
    return bool(node.pool()[0]["pool"]["resourceSliceCount"] == 2)


@shows("shared-pool-name")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    node.start(faults=faults)
    return bool(node.pool()[0]["pool"]["name"] == "d.fake.dra")


@shows("no-republish-after-wipe")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    node.pool()
    node.api.delete_slice(next(iter(node.api.slices)))
    seconds = 2 if faults else 15
    alone = is_published(node, seconds)
    driver.end()
    for name in list(node.api.slices):
        node.api.delete_slice(name)
    node.start(faults=faults)
    later = is_published(node, seconds)
    assert alone == later
    return not later


@shows("no-owner")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    node.pool()
    (item,) = node.api.slices.values()
    driver.http("/devices", {"count": 3})
    node.until(lambda: [len(spec["devices"]) for spec in node.pool()] == [3])
    assert len(node.api.writes) == 2
    return not item["metadata"]["ownerReferences"]


@shows("empty-cdi")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claim = node.claim("device-0")
    environment = node.environment(driver.prepare(claim)[claim.uid])
    assert environment
    return not any(name.startswith("DRA_FAKE_") for name in environment)


@shows("wrong-device")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claim = node.claim("device-0")
    (value,) = node.environment(driver.prepare(claim)[claim.uid]).values()
    assert value.startswith("d.fake.dra/node-1/device-")
    return not value.endswith("/device-0")


@shows("device-on-all-containers")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claim = node.claim("device-0", "device-1")
    return all(not device.request_names for device in driver.prepare(claim)[claim.uid].devices)


@shows("keeps-cdi")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claim = node.claim("device-0")
    driver.prepare(claim)
    assert driver.unprepare(claim)[claim.uid].error == ""
    return node.cdi_files() != []


@shows("keeps-device")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claim, next_claim = node.claim("device-0"), node.claim("device-0")
    driver.prepare(claim)
    assert driver.unprepare(claim)[claim.uid].error == ""
    assert node.cdi_files() == []
    return "still held" in driver.prepare(next_claim)[next_claim.uid].error


@shows("fixed-sockets")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    old, new = node.start(faults=faults), node.start(faults=faults)
    old.end()
    return new.health() == "NOT_SERVING" and node.sockets() == set()


@shows("newcomer-steals")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    old = node.start(faults=faults)
    new = node.start(faults=faults)
    assert new.health() == "SERVING"
    return old.health() == "NOT_SERVING" and not old.registration.exists() and not old.service.exists()


@shows("broken-newcomer-takes-over")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    old = node.start(faults=faults)
    new = node.start(faults=faults)
    assert old.health() == new.health() == "SERVING"
    broken = node.spawn(wait=False, faults=(*faults, "dies-after-registration"))
    node.until(broken.registration.exists)
    broken.notify()
    assert broken.process is not None
    assert broken.process.wait(timeout=5) == 1
    return not old.registration.exists() and not new.registration.exists()


@shows("stale-socket-blocks-start")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    uid = "6f2bbd4c-6c0a-4d38-8b8c-6e3d5f6a7b10"
    killed = node.spawn(pod_uid=uid, faults=faults)
    killed.signal(signal.SIGKILL)
    assert killed.process is not None
    killed.process.wait()
    follower = node.spawn(wait=False, pod_uid=uid, faults=faults)
    if came_up(node, follower) is None:
        return False
    assert follower.process is not None
    assert follower.process.stderr is not None
    assert str(killed.registration) in follower.process.stderr.read()
    return follower.process.returncode == 1


@shows("drops-calls-on-sigterm")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.spawn(faults=faults)
    claim = node.claim("device-0")
    driver.inject({"method": "NodePrepareResources", "delay": 0.5}, planted=faults)
    failures: list[grpc.RpcError] = []

    def prepare() -> None:
        try:
            driver.prepare(claim)
        except grpc.RpcError as error:
            failures.append(error)

    thread = threading.Thread(target=prepare)
    thread.start()
    node.until(lambda: any(entry["end"] is None for entry in driver.journal()))
    assert driver.end() == 0
    thread.join()
    return len(failures) == 1 and node.sockets() == {driver.service.name, driver.registration.name}


@shows("unregisters-when-hung")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.spawn(faults=faults)
    driver.signal(signal.SIGSTOP)
    try:
        node.until(lambda: not driver.registration.exists(), seconds=5 if faults else 1)
    except AssertionError:
        return False
    return driver.service.exists()


@shows("deletes-slices-on-stop")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    node.pool()
    driver.end()
    return not node.api.slices


@shows("health-in-other-process")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.spawn(faults=faults)
    driver.signal(signal.SIGSTOP)
    shown = driver.health(timeout=1) == "SERVING"
    driver.signal(signal.SIGKILL)
    if shown:
        node.until(lambda: driver.health() == "UNAVAILABLE")
    return shown


@shows("always-serving")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    driver.service.unlink()
    return driver.health() == "SERVING"


@shows("health-ignores-registration")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    driver.registration.unlink()
    shown = driver.health() == "SERVING"
    driver.service.unlink()
    assert driver.health() == "NOT_SERVING"
    return shown


@shows("health-ignores-hang")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    driver.inject({"method": "NodePrepareResources", "hang": True, "probe": True}, planted=faults)
    shown = driver.health() == "SERVING"
    driver.registration.unlink()
    assert driver.health() == "NOT_SERVING"
    return shown


@shows("unhealthy-when-reregistered")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    driver.notify()
    assert driver.health() == "SERVING"
    driver.notify()
    return driver.health() == "NOT_SERVING"


@shows("unhealthy-under-load")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    for _ in range(10):
        driver.prepare(node.claim("device-0"))
    assert driver.health() == "SERVING"
    driver.prepare(node.claim("device-0"))
    return driver.health() == "NOT_SERVING"


@shows("no-metrics")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    driver.prepare()
    status, text = driver.http("/metrics")
    assert status == 200
    return "dra_grpc_operations_duration_seconds" not in text


@shows("state-in-memory")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    first = node.start(faults=faults)
    claim, other = node.claim("device-0"), node.claim("device-0")
    first.prepare(claim)
    first.end()
    second = node.start(faults=faults)
    forgotten = not second.prepare(other)[other.uid].error
    second.unprepare(claim)
    return forgotten and any(claim.uid in file.name for file in node.cdi_files())


@shows("newer-format-unreadable")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    new = node.start(version="2.0.0", faults=faults)
    claim = node.claim("device-0")
    new.prepare(claim)
    new.notify()
    state = new.settings.data_dir / "state.json"
    if faults:
        node.until(lambda: json.loads(state.read_text())["format"] == 3)
    assert not new.prepare(claim)[claim.uid].error
    old = node.spawn(wait=False, version="1.0.0", faults=faults)
    return came_up(node, old) == 65


@shows("kills-devices-on-start")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    claim, other = node.claim("device-0"), node.claim("device-0")
    first = node.start(faults=faults)
    first.prepare(claim)
    first.end()
    assert len(node.cdi_files()) == 1
    second = node.start(faults=faults)
    return node.cdi_files() == [] and not second.prepare(other)[other.uid].error


@shows("leaks-on-restart")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    claims = [node.claim("device-0") for _ in range(3)]
    first = node.start(faults=faults)
    first.prepare(claims[0])
    first.unprepare(claims[0])
    assert not first.prepare(claims[1])[claims[1].uid].error
    first.end()
    second = node.start(faults=faults)
    assert not second.unprepare(claims[1])[claims[1].uid].error
    assert node.cdi_files() == []
    return "still held" in second.prepare(claims[2])[claims[2].uid].error


@shows("no-exclusivity")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claims = [node.claim("device-0"), node.claim("device-0")]
    return all(not driver.prepare(claim)[claim.uid].error for claim in claims)


@shows("serializes-calls")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    driver.inject({"method": "NodePrepareResources", "delay": 3, "claim": "slow"}, planted=faults)
    slow = node.claim("device-0", name="slow")
    thread = threading.Thread(target=driver.prepare, args=[slow])
    thread.start()
    node.until(lambda: any(entry["end"] is None for entry in driver.journal()))
    shown = driver.health() == "NOT_SERVING"
    thread.join()
    assert driver.health() == "SERVING"
    return shown


@shows("slow-prepare")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claim = node.claim("device-0")
    start = time.monotonic()
    driver.prepare(claim)
    return time.monotonic() - start >= 2


def came_up(node: Node, driver: Instance) -> int | None:
    """The exit code of a process that ends instead of serving."""
    process = driver.process
    assert process is not None
    node.until(lambda: process.poll() is not None or driver.health() == "SERVING")
    return process.returncode


def is_published(node: Node, seconds: float) -> bool:
    """Whether slices appear, within so many seconds."""
    try:
        node.until(lambda: node.api.slices, seconds)
    except AssertionError:
        return False
    return True


@pytest.fixture(autouse=True)
def _short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.fake.faults.registration.LATE_SECONDS", 1.0)
    monkeypatch.setattr("drivers.fake.faults.sockets.HEAD_START_SECONDS", 0.1)
    monkeypatch.setattr("drivers.fake.faults.state.MIGRATION_SECONDS", 0.1)
    monkeypatch.setattr("drivers.fake.driver.READY_WAIT_SECONDS", 0.2)


def test_every_fault_is_shown() -> None:
    assert SHOWN.keys() == FAULTS.keys()
    assert all(fault.description.endswith(".") for fault in FAULTS.values())


@pytest.mark.parametrize("fault", SHOWN)
def test_a_planted_fault_shows(node: Node, fault: str) -> None:
    assert SHOWN[fault](node, (fault,))


@pytest.mark.parametrize("fault", SHOWN)
def test_a_healthy_driver_does_not_show_it(node: Node, fault: str) -> None:
    assert not SHOWN[fault](node, ())


def test_faults_can_be_planted_and_pulled_at_run_time(node: Node) -> None:
    driver = node.start()
    node.pool()
    driver.inject(planted=("wrong-slice-count", "stale-slice", "no-metrics"))
    assert [spec["pool"]["generation"] for spec in node.pool(slices=2)] == [1, 0]
    node.until(lambda: node.pool(slices=2)[0]["pool"]["resourceSliceCount"] == 2)
    driver.inject()
    node.until(lambda: [spec["pool"]["resourceSliceCount"] for spec in node.pool()] == [1])
    assert "dra_grpc" in driver.http("/metrics")[1]


def test_what_a_fault_remembers_outlives_the_planting_of_others(node: Node) -> None:
    driver = node.start()
    driver.inject(planted=("unhealthy-when-reregistered",))
    driver.notify()
    driver.inject(planted=("unhealthy-when-reregistered", "no-metrics"))
    driver.notify()
    assert driver.health() == "NOT_SERVING"
