"""Every node judged after a rollout: what it lacks, how the rollout went there, and what it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.driver.driver import Driver
from fixtures.kube import metrics
from fixtures.kube.timeouts import Timeouts
from fixtures.recorder.facts import PodFacts, SliceFacts
from fixtures.recorder.seen import Seen
from fixtures.upgrade.each_node import appearances, how_it_went, lacks
from fixtures.workload.workloads import WORKLOAD_LABEL, Workloads

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
NODES = {"node-1": "v1.35.4", "node-2": "v1.32.13"}
SPACE = "dra-1a2b3c"
INSTANCE = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
START, END = {node: f"new-{node}" for node in NODES}, {node: f"old-{node}" for node in NODES}


def pod(name: str, state: str = "running", *, leaving: bool = False) -> Object:
    metadata: Object = {"name": name, "namespace": SPACE, "labels": {WORKLOAD_LABEL: "1a2b3c"}}
    if leaving:
        metadata["deletionTimestamp"] = "2026"
    containers = [{"name": "main", "state": {state: {"reason": "ContainerCreating"} if state == "waiting" else {}}}]
    return {"kind": "Pod", "metadata": metadata, "status": {"phase": "Running", "containerStatuses": containers}}


@pytest.fixture
def driver(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setattr(metrics, "registered_sockets", lambda *_: ["socket"])
    for node, version in NODES.items():
        memory.put({"kind": "Node", "metadata": {"name": node}, "status": {"nodeInfo": {"kubeletVersion": version}}})
        spec = {
            "driver": INSTANCE.name,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        }
        memory.put({"kind": "ResourceSlice", "metadata": {"name": f"slice-{node}"}, "spec": spec})
    return Driver(memory, INSTANCE, list(NODES), {}, Timeouts(1, {"pod_running": 1e-9}))


def judged(driver: Driver) -> list[str]:
    return lacks(driver, Workloads(driver.kube, INSTANCE, driver.timeouts), START, END)


def test_nodes_on_which_pods_start_and_end_lack_nothing(driver: Driver, memory: Memory) -> None:
    for name in START.values():
        memory.put(pod(name))
    assert judged(driver) == []


def test_what_a_node_lacks_is_told_with_its_kubelet(
    driver: Driver, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put(pod("new-node-1"))
    memory.put(pod("new-node-2", "waiting"))
    memory.put(pod("old-node-2", leaving=True))
    memory.drop("ResourceSlice", "slice-node-2")
    monkeypatch.setattr(metrics, "registered_sockets", lambda _kube, node, _name: ["s"] if node == "node-1" else [])
    (told,) = judged(driver)
    assert told == (
        "node-2 (kubelet v1.32.13): a new pod does not start: new-node-2 Running main ContainerCreating, "
        "a pod from before does not end: old-node-2 Terminating Running, "
        "node-2 has no slice, the driver is not registered"
    )


def test_a_rollout_was_seamless_or_a_downtime_on_each_node(driver: Driver) -> None:
    def seen(at: float, name: str, node: str, *, leaving: bool = False) -> Seen:
        facts = PodFacts(ready=True, owner="driver-1a2b3c", node=node)
        return Seen(at, "Pod", "MODIFIED", SPACE, name, name, leaving, facts)

    def piece(at: float, change: str) -> Seen:
        return Seen(at, "ResourceSlice", change, None, "s", f"s-{change}", False, SliceFacts(node="node-2"))

    overlap = [seen(1, "a", "node-1"), seen(3, "b", "node-1"), seen(4, "a", "node-1", leaving=True)]
    downtime = [seen(1, "c", "node-2"), seen(4, "c", "node-2", leaving=True), seen(6.5, "d", "node-2")]
    assert how_it_went(driver, [*overlap, *downtime]) == [
        "node-1 (kubelet v1.35.4): the versions overlapped",
        "node-2 (kubelet v1.32.13): a downtime, 2.5 s without a Ready driver",
    ]
    slices = [
        piece(1, "ADDED"),
        Seen(4, "ResourceSlice", "DELETED", None, "s", "s-ADDED", False, SliceFacts(node="node-2")),
    ]
    back = Seen(5, "ResourceSlice", "ADDED", None, "t", "t", False, SliceFacts(node="node-2"))
    assert how_it_went(driver, [*slices, back])[1].endswith("the versions overlapped, 1.0 s without slices")


def test_what_pods_and_metrics_say_is_told(driver: Driver, memory: Memory) -> None:
    own = pod("d")
    own["metadata"]["ownerReferences"] = [{"name": "driver-1a2b3c", "controller": True}]
    own["spec"] = {"nodeName": "node-2"}
    own["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    memory.put(own)
    assert appearances(driver) == (
        "node-1: driver pod not Ready, the kubelet's metrics list 1 sockets of it; "
        "node-2: driver pod Ready, the kubelet's metrics list 1 sockets of it"
    )
