"""What a node can hold is tried where slices do not tell, once for all checks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.workload.measuring import MOST, roomy
from fixtures.workload.workloads import Workloads

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
HOLD = {"n": 3, "m": 1}


@pytest.fixture
def driver(memory: Memory) -> Driver:
    """A driver whose devices share counters: three claims fit on one node, one on the other."""
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    for node in HOLD:
        devices = [{"name": f"part-{i}", "consumesCounters": [{"counterSet": "c"}]} for i in range(8)]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": instance.name, "nodeName": node, "pool": pool, "devices": devices}
        memory.put({"kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec})
    memory.reacts = lambda: schedule(memory)
    return Driver(memory, instance, list(HOLD), {}, Timeouts())


def schedule(memory: Memory) -> None:
    taken = Counter[str]()
    for item in [i for i in memory.objects.values() if i["kind"] == "Pod"]:
        affinity = item["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        node = affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
        taken[node] += 1
        fits = taken[node] <= HOLD[node]
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        running: Object = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
        item["status"] = running if fits else {"phase": "Pending", "conditions": [condition]}
        item["spec"] |= {"nodeName": node} if fits else {}


def test_claims_are_made_until_there_is_no_more(driver: Driver, memory: Memory, tmp_path: Path) -> None:
    workloads = Workloads(memory, driver.instance, driver.timeouts)
    assert roomy(driver, workloads, tmp_path).room.by_node == HOLD
    assert sum(line.startswith("create Pod/room-") for line in memory.done) == 2 * MOST
    assert {kind for kind, _, _ in memory.objects} == {"ResourceSlice"}, "all of it is gone again"
    memory.done.clear()
    assert roomy(driver, workloads, tmp_path).room.by_node == HOLD
    assert memory.done == []
    assert json.loads((tmp_path / "room.json").read_text()) == HOLD
