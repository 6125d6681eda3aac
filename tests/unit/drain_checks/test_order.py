"""The watch on the driver while a node is drained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.drain_checks.order import stays_until_gone
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"


def pod(name: str, *, ready: bool = True, owner: str | None = None) -> Object:
    metadata: Object = {"name": name, "namespace": SPACE}
    if owner:
        metadata["ownerReferences"] = [{"name": owner, "controller": True}]
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node-1"}, "status": status}


SERVING = pod("driver-x", owner="driver-1a2b3c")


@pytest.fixture
def driver(memory: Memory) -> Driver:
    for item in (SERVING, pod("quick"), pod("slow")):
        memory.put(item)
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return Driver(memory, instance, ["node-1"], {}, Timeouts())


def test_a_driver_that_goes_after_the_last_pod_was_drained_last(driver: Driver, memory: Memory) -> None:
    gone = iter(["quick", "slow"])
    memory.later = [lambda: memory.drop("Pod", next(gone), SPACE)] * 2
    stays_until_gone(driver, "node-1", ["quick", "slow"])
    assert [d.what for d in driver.disturbances] == ["drain of node-1"]


def test_a_driver_may_go_once_the_last_pod_is_over_though_it_is_still_there(driver: Driver, memory: Memory) -> None:
    ended = pod("slow", ready=False)
    ended["status"]["phase"] = "Succeeded"
    memory.later = [
        lambda: memory.drop("Pod", "quick", SPACE),
        lambda: memory.put(ended),
        lambda: memory.drop("Pod", "driver-x", SPACE),
        lambda: memory.drop("Pod", "slow", SPACE),
    ]
    stays_until_gone(driver, "node-1", ["quick", "slow"])
    assert memory.later == []


@pytest.mark.parametrize(
    "deed",
    [
        lambda memory: memory.drop("Pod", "driver-x", SPACE),
        lambda memory: memory.put({**SERVING, "status": {"phase": "Failed"}}),
        lambda memory: memory.put({**SERVING, "metadata": {**SERVING["metadata"], "deletionTimestamp": "2026"}}),
    ],
    ids=["gone", "over", "leaving"],
)
def test_a_driver_that_goes_before_the_last_pod_fails_at_once(driver: Driver, memory: Memory, deed: Any) -> None:
    memory.later = [lambda: memory.drop("Pod", "quick", SPACE), lambda: deed(memory)]
    with pytest.raises(CheckFailed) as caught:
        stays_until_gone(driver, "node-1", ["quick", "slow"])
    assert "driver-x went while slow still held devices" in caught.value.observed


def test_a_driver_whose_probe_fails_for_a_moment_is_not_drained(driver: Driver, memory: Memory) -> None:
    memory.later = [
        lambda: memory.put({**SERVING, "status": {"phase": "Running", "conditions": []}}),
        lambda: memory.drop("Pod", "quick", SPACE),
        lambda: memory.drop("Pod", "slow", SPACE),
    ]
    stays_until_gone(driver, "node-1", ["quick", "slow"])
    assert memory.later == []
