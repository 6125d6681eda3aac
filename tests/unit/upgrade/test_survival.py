"""Pods that live on: containers that crash and come back in the same pods, and pods to which nothing happens."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.cluster.nodes.shell import DockerShell
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.upgrade.survival import crash_containers, live_on
from fixtures.workload.workloads import WORKLOAD_LABEL, Workloads

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"
INSTANCE = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
POD: Object = {
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": SPACE, "labels": {WORKLOAD_LABEL: "1a2b3c"}},
    "spec": {"nodeName": "node-1"},
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {"name": name, "restartCount": 0, "containerID": f"containerd://{name}-0", "state": {"running": {}}}
            for name in ("main", "side")
        ],
    },
}


def changed(restarts: int = 0, state: str = "running", phase: str = "Running", *, leaving: bool = False) -> Object:
    pod = copy.deepcopy(POD)
    pod["status"]["phase"] = phase
    pod["status"]["containerStatuses"][0] |= {"restartCount": restarts, "state": {state: {}}}
    if leaving:
        pod["metadata"]["deletionTimestamp"] = "2026"
    return pod


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(DockerShell, "kill_container", lambda self, name: told.append(f"{self.node} {name}"))
    return told


@pytest.fixture
def driver(memory: Memory) -> Driver:
    memory.put(POD)
    return Driver(memory, INSTANCE, ["node-1"], {"node-1": DockerShell("node-1", Path("docker"))}, Timeouts())


@pytest.fixture
def workloads(memory: Memory) -> Workloads:
    return Workloads(memory, INSTANCE, Timeouts())


def replaced(memory: Memory) -> None:
    memory.drop("Pod", "p", SPACE)
    memory.put(changed(restarts=1))


def test_containers_that_crash_come_back_in_the_same_pod(
    memory: Memory, driver: Driver, workloads: Workloads, killed: list[str]
) -> None:
    memory.later = [lambda: memory.put(changed(0, "terminated")), lambda: memory.put(changed(1))]
    crash_containers(driver, workloads, ["p"])
    assert killed == ["node-1 main-0", "node-1 side-0"]
    assert [d.what for d in driver.disturbances] == ["SIGKILL to the containers of p on node-1"]


@pytest.mark.usefixtures("killed")
@pytest.mark.parametrize(
    ("fate", "told"),
    [
        (lambda memory: memory.drop("Pod", "p", SPACE), "pod p is gone"),
        (replaced, "pod p is gone"),
        (lambda memory: memory.put(changed(1, leaving=True)), "Terminating"),
        (lambda memory: memory.put(changed(0, "terminated", "Failed")), "Failed"),
    ],
    ids=["gone", "replaced", "leaving", "failed"],
)
def test_a_pod_that_ends_with_its_container_does_not_survive(
    memory: Memory, driver: Driver, workloads: Workloads, fate: Callable[[Memory], object], told: str
) -> None:
    memory.later = [lambda: fate(memory)]
    with pytest.raises(CheckFailed, match=told):
        crash_containers(driver, workloads, ["p"])


@pytest.mark.usefixtures("driver")
def test_a_pod_to_which_nothing_happens_lives_on(memory: Memory, workloads: Workloads) -> None:
    live_on(workloads, ["p"], seconds=-1)
    assert memory.done == []


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("fate", "told"),
    [
        (lambda memory: memory.drop("Pod", "p", SPACE), "pod p is gone"),
        (replaced, "pod p is gone"),
        (lambda memory: memory.put(changed(leaving=True)), "Terminating"),
        (lambda memory: memory.put(changed(0, "terminated")), "main terminated, restarted 0 times"),
        (lambda memory: memory.put(changed(1)), "restarted 1 times"),
    ],
    ids=["gone", "replaced", "leaving", "down", "restarted"],
)
def test_a_pod_to_which_something_happens_is_told(
    memory: Memory, workloads: Workloads, fate: Callable[[Memory], object], told: str
) -> None:
    memory.later = [lambda: fate(memory)]
    with pytest.raises(CheckFailed, match=told):
        live_on(workloads, ["p"], seconds=60)
