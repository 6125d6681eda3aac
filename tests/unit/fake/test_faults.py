"""Each planted fault shows its effect, and a healthy driver does not."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import grpc
import pytest

from drivers.fake.faults import FAULTS

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node

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


@shows("no-exclusivity")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claims = [node.claim("device-0"), node.claim("device-0")]
    return all(not driver.prepare(claim)[claim.uid].error for claim in claims)


@shows("slow-prepare")
def _(node: Node, faults: tuple[str, ...]) -> bool:
    driver = node.start(faults=faults)
    claim = node.claim("device-0")
    start = time.monotonic()
    driver.prepare(claim)
    return time.monotonic() - start >= 2


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
