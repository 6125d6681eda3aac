"""Waiting until a driver may go, and watching that it does not go before, on an API server in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.drain_checks.budget import Budget
from fixtures.drain_checks.gate import await_gone_from, await_held, cordoned, held, stays_on
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.workload.workloads import WORKLOAD_LABEL, Workloads
from tests.unit.drain.objects import NODE, claim, pod

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"
NAME = "d-1a2b3c.fake.dra"


def here(item: Object, **metadata: Any) -> Object:
    """The same object in the check's namespace."""
    item["metadata"] |= {"namespace": SPACE, **metadata}
    return item


def serving(*, ready: bool = True) -> Object:
    item = here(pod("driver-x", owner="DaemonSet/driver-1a2b3c"))
    item["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
    return item


@pytest.fixture
def driver(memory: Memory) -> Driver:
    memory.put(serving())
    memory.put({"kind": "Node", "metadata": {"name": NODE}, "spec": {}})
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    timeouts = Timeouts(1, {"released": 0.2, "drain": 0.2, "pod_gone": 0.2, "api_answer": 0.2})
    return Driver(memory, instance, [NODE], {}, timeouts)


def test_who_holds_the_driver_is_asked_of_the_cluster(driver: Driver, memory: Memory) -> None:
    memory.put(here(claim("mine", driver=NAME)))
    memory.put(here(claim("theirs", driver="nic.example.com")))
    assert [h.claim for h in held(driver, NODE)] == [f"{SPACE}/mine"]
    assert [h.claim for h in held(driver, NODE, of="nic.example.com")] == [f"{SPACE}/theirs"]
    assert held(driver, "node-2") == []


def test_the_wait_ends_when_just_the_named_claims_are_left(driver: Driver, memory: Memory) -> None:
    memory.put(here(claim("stays", driver=NAME)))
    memory.put(here(claim("goes", driver=NAME)))
    memory.later = [lambda: memory.drop("ResourceClaim", "goes", SPACE)]
    assert [h.claim for h in await_held(driver, NODE, "stays")] == [f"{SPACE}/stays"]
    memory.later = [lambda: memory.drop("ResourceClaim", "stays", SPACE)]
    assert await_held(driver, NODE) == []


@pytest.mark.parametrize(
    "deed",
    [lambda m: m.drop("Pod", "driver-x", SPACE), lambda m: m.put(serving(ready=False))],
    ids=["gone", "not ready"],
)
def test_a_driver_that_goes_too_early_fails_at_once(driver: Driver, memory: Memory, deed: Any) -> None:
    memory.later = [lambda: deed(memory)]
    with pytest.raises(CheckFailed, match="it is not Ready there"):
        stays_on(driver, NODE, 5, "a claim is there")


def test_a_driver_that_comes_back_was_not_let_go(driver: Driver, memory: Memory) -> None:
    memory.later = [lambda: memory.drop("Pod", "driver-x", SPACE), lambda: memory.put(serving())]
    with pytest.raises(CheckFailed, match="it came back"):
        await_gone_from(driver, NODE, 5)


def test_a_cordon_ends_with_the_check(driver: Driver, memory: Memory) -> None:
    with pytest.raises(AssertionError, match="not there"), cordoned(driver, NODE):
        assert "unschedulable" not in memory.get("Node", NODE)["spec"], "not there"
    assert "unschedulable" not in memory.get("Node", NODE)["spec"]


def holder(name: str) -> Object:
    item = here(pod(name, claims=["c"]), labels={WORKLOAD_LABEL: "1a2b3c"})
    item["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return item


@pytest.fixture
def budget(driver: Driver, memory: Memory) -> Budget:
    for name in ("left", "right"):
        memory.put(holder(name))

    def counted() -> None:
        made = memory.get("PodDisruptionBudget", "one-ready", SPACE)
        memory.put({**made, "status": {"disruptionsAllowed": 1}})

    memory.later = [counted]
    return Budget(driver, Workloads(memory, driver.instance, driver.timeouts))


def test_a_budget_is_in_force_before_it_counts(budget: Budget, memory: Memory) -> None:
    assert memory.get("PodDisruptionBudget", "one-ready", SPACE)["spec"]["minAvailable"] == 1
    memory.later = [lambda: memory.drop("Pod", "left", SPACE)]
    budget.await_gone("left", "right", but=1)


def test_a_budget_that_is_overrun_fails_at_once(budget: Budget, memory: Memory) -> None:
    leaving = here(pod("right", leaving=True), labels={WORKLOAD_LABEL: "1a2b3c"})
    memory.drop("Pod", "left", SPACE)
    memory.later = [lambda: memory.put(leaving)]
    with pytest.raises(CheckFailed, match="no pod was Ready, against the PodDisruptionBudget"):
        budget.holds(5)


def test_a_driver_that_leaves_a_holder_behind_fails_at_once(budget: Budget, memory: Memory) -> None:
    memory.later = [lambda: memory.drop("Pod", "driver-x", SPACE)]
    with pytest.raises(CheckFailed, match="the driver was not Ready while left still held a device"):
        budget.await_gone("left", "right")
