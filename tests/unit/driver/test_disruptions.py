"""A driver that vanishes: where it hangs nothing withdraws its sockets, elsewhere it goes the clean way."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import OtherOutcome
from fixtures.cluster.nodes.shell import DockerShell, NodeShell, NodeShellError
from fixtures.driver.disruptions import freeze, hangs, vanish
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
NODES = ["node-1", "node-2"]
SPACE = "dra-1a2b3c"
NAME = "driver-1a2b3c"


class Cluster:
    """Pods of a driver that the kubelets begin to end once it is to leave, and that are gone after their time."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.told = memory, list[str]()
        for name in (NAME, f"{NAME}-old-kubelets"):
            spec: Object = {"template": {"spec": {"nodeSelector": {}}}}
            memory.put({"kind": "DaemonSet", "metadata": {"name": name, "namespace": SPACE}, "spec": spec})
        for node in NODES:
            memory.put(self.pod(node))
            self.killing(node, "Container driver failed liveness probe, will be restarted")
        memory.later = [self.terminate, self.end]

    @staticmethod
    def pod(node: str) -> Object:
        metadata = {
            "name": f"{NAME}-{node}",
            "namespace": SPACE,
            "ownerReferences": [{"name": NAME, "controller": True}],
        }
        status = {"containerStatuses": [{"name": "driver", "containerID": f"containerd://id-{node}"}]}
        return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": status}

    def terminate(self) -> None:
        for node in NODES:
            item = self.pod(node)
            item["metadata"]["deletionTimestamp"] = "2026"
            self.memory.put(item)
            self.killing(node, "Stopping container driver")
        self.told.append("ending")

    def killing(self, node: str, message: str) -> None:
        pod = self.memory.get("Pod", f"{NAME}-{node}", SPACE)
        item: Object = {"kind": "Event", "metadata": {"name": f"killing-{node}", "namespace": SPACE}}
        self.memory.put(item | {"involvedObject": pod["metadata"], "reason": "Killing", "message": message})

    def end(self) -> None:
        for node in NODES:
            self.memory.drop("Pod", f"{NAME}-{node}", SPACE)


@pytest.fixture
def cluster(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(memory)
    monkeypatch.setattr(NodeShell, "signal", lambda self, pid, name: made.told.append(f"{self.node} {pid} {name}"))
    monkeypatch.setattr(NodeShell, "serving_processes", lambda _, container: [int(container[-1])])
    return made


@pytest.fixture
def driver(cluster: Cluster) -> Driver:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    shells: dict[str, NodeShell] = {node: DockerShell(node, Path("docker")) for node in NODES}
    return Driver(cluster.memory, instance, NODES, shells, Timeouts())


def test_a_driver_that_vanishes_hangs_until_it_is_killed_as_it_leaves(driver: Driver, cluster: Cluster) -> None:
    vanish(driver, "node-2")
    assert cluster.told == ["node-2 2 STOP", "ending", "node-2 2 KILL"]
    assert [d.what for d in driver.disturbances] == [
        "SIGSTOP to the driver on node-2",
        "driver stopped",
        "SIGKILL to the driver on node-2",
    ]


def test_a_driver_that_was_restarted_before_it_left_tells_nothing(
    driver: Driver, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signal(_: NodeShell, _pid: int, name: str) -> None:
        if name == "KILL":
            raise NodeShellError("no such process")

    monkeypatch.setattr(DockerShell, "signal", signal)
    with pytest.raises(OtherOutcome, match="the hung driver on node-2 was restarted") as said:
        vanish(driver, "node-2")
    assert said.value.outcome == "inconclusive"
    assert len(cluster.memory.later) == 1


def test_a_driver_whose_container_was_just_restarted_is_waited_for(
    driver: Driver, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([[], [7], [8]])

    def signal(_: NodeShell, pid: int, name: str) -> None:
        if pid == 7:
            raise NodeShellError("no such process")
        cluster.told.append(f"{pid} {name}")

    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(DockerShell, "serving_processes", lambda *_: next(found))
    monkeypatch.setattr(DockerShell, "signal", signal)
    freeze(driver, "node-1")
    assert cluster.told == ["8 STOP"]


def test_without_a_node_it_vanishes_from_all(driver: Driver, cluster: Cluster) -> None:
    vanish(driver)
    assert cluster.told == ["node-1 1 STOP", "node-2 2 STOP", "ending", "node-1 1 KILL", "node-2 2 KILL"]
    assert driver.pods() == []


@pytest.mark.parametrize(("state", "seen"), [("T", True), ("S", False), ("", False)])
def test_a_driver_hangs_while_its_process_is_stopped(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, state: str, seen: bool
) -> None:
    monkeypatch.setattr(DockerShell, "serving_processes", lambda *_: [7])
    monkeypatch.setattr(
        DockerShell, "run", lambda _, script: f" {state} 1 1" if state and "/proc/7/stat" in script else ""
    )
    assert hangs(driver, "node-1") == seen


def test_a_driver_that_listens_nowhere_does_not_hang(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DockerShell, "serving_processes", lambda *_: [])
    assert not hangs(driver, "node-1")
