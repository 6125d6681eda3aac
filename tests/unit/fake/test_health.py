from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node


def test_serving_leaves_no_trace(node: Node) -> None:
    driver = node.start()
    assert driver.health() == "SERVING"
    assert [entry["method"] for entry in driver.journal()] == ["start"]
    assert "GetInfo" not in driver.http("/metrics")[1]


def test_without_a_port_nobody_is_told(node: Node) -> None:
    driver = node.start(health_port=-1)
    assert driver.driver is not None
    assert driver.driver.serving()
    assert driver.end() == 0


@pytest.mark.parametrize("which", ["service", "registration"])
def test_a_lost_socket_is_noticed(node: Node, which: str) -> None:
    driver = node.start()
    assert driver.health() == "SERVING"
    getattr(driver, which).unlink()
    assert driver.health() == "NOT_SERVING"


@pytest.mark.parametrize("method", ["GetInfo", "NodePrepareResources"])
def test_a_socket_that_hangs_is_noticed(node: Node, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.fake.health.CALL_TIMEOUT_SECONDS", 0.5)
    driver = node.start()
    driver.inject({"method": method, "hang": True, "probe": True})
    assert driver.health() == "NOT_SERVING"


def test_a_socket_that_another_driver_took_is_noticed(node: Node) -> None:
    driver, thief = node.start(), node.start(driver_name="e.fake.dra")
    driver.registration.unlink()
    driver.registration.symlink_to(thief.registration)
    assert driver.health() == "NOT_SERVING"


@pytest.mark.parametrize("version", ["v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"])
def test_device_health_is_complete_at_once_and_follows_changes(node: Node, version: str) -> None:
    driver = node.start()
    stream = driver.watch_health(version)
    first = next(stream)
    assert {name: device.health for name, device in first.items()} == {f"device-{i}": 1 for i in range(4)}
    assert first["device-2"].device.pool_name == node.name
    assert abs(first["device-2"].last_updated_time - time.time()) < 5
    driver.http("/devices", {"count": 4, "health": {"device-2": {"status": "Unhealthy", "message": "too hot"}}})
    changed = next(stream)["device-2"]
    assert (changed.health, changed.message) == (2, "too hot")
    driver.http("/devices", {"count": 4})
    assert next(stream)["device-2"].health == 1


def test_a_health_stream_does_not_hold_up_the_end(node: Node) -> None:
    driver = node.start()
    stream = driver.watch_health()
    next(stream)
    start = time.monotonic()
    driver.end()
    assert list(stream) == []
    assert time.monotonic() - start < 4
