"""Drains, by a kubectl that does what the test wants, and the watch on the driver meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.manifest import load
from fixtures.cluster.handle import ClusterHandle
from fixtures.drain import Drains, stays_ready_until_gone
from fixtures.driver import Driver
from fixtures.kube import Timeouts
from fixtures.outcomes import CheckFailed

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"


def drains(memory: Memory, tmp_path: Path, script: str, seconds: float = 30) -> Drains:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{script}\n')
    kubectl.chmod(0o755)
    memory.put({"kind": "Node", "metadata": {"name": "node-1"}, "spec": {"unschedulable": True}})
    kubeconfig = tmp_path / "kubeconfig"
    handle = ClusterHandle("standard", "c", kubeconfig, "1.37.2", (), frozenset(), kubectl, Path("docker"), tmp_path)
    return Drains(memory, handle, Timeouts(1, {"drain": seconds}))


def test_a_drain_is_kubectls_and_leaves_the_node_usable(memory: Memory, tmp_path: Path) -> None:
    with drains(memory, tmp_path, "exit 0").draining("node-1"):
        pass
    asked = (tmp_path / "asked").read_text().split()
    assert asked[:3] == [f"--kubeconfig={tmp_path}/kubeconfig", "drain", "node-1"]
    assert {"--ignore-daemonsets", "--timeout=30s"} <= set(asked)
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


def test_a_drain_that_fails_fails_the_check_with_what_it_said(memory: Memory, tmp_path: Path) -> None:
    with (
        pytest.raises(CheckFailed) as caught,
        drains(memory, tmp_path, "echo cannot evict >&2; exit 1").draining("node-1"),
    ):
        pass
    assert caught.value.observed == "exit 1: cannot evict\n"
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


def test_a_drain_without_end_fails_the_check_and_is_ended(memory: Memory, tmp_path: Path) -> None:
    with (
        pytest.raises(CheckFailed, match="it still runs"),
        drains(memory, tmp_path, "exec sleep 60", 0.1).draining("node-1"),
    ):
        pass
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


def test_a_drain_ends_with_the_check_that_fails_meanwhile(memory: Memory, tmp_path: Path) -> None:
    with (
        pytest.raises(CheckFailed, match="the driver left"),
        drains(memory, tmp_path, "exec sleep 60").draining("node-1"),
    ):
        raise CheckFailed("the driver stays", "the driver left")
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


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
    stays_ready_until_gone(driver, "node-1", ["quick", "slow"])
    assert [d.what for d in driver.disturbances] == ["drain of node-1"]


@pytest.mark.parametrize(
    "deed",
    [
        lambda memory: memory.drop("Pod", "driver-x", SPACE),
        lambda memory: memory.put({**SERVING, "status": {"conditions": []}}),
        lambda memory: memory.put({**SERVING, "metadata": {**SERVING["metadata"], "deletionTimestamp": "2026"}}),
    ],
    ids=["gone", "not ready", "leaving"],
)
def test_a_driver_that_goes_before_the_last_pod_fails_at_once(driver: Driver, memory: Memory, deed: Any) -> None:
    memory.later = [lambda: memory.drop("Pod", "quick", SPACE), lambda: deed(memory)]
    with pytest.raises(CheckFailed) as caught:
        stays_ready_until_gone(driver, "node-1", ["quick", "slow"])
    assert "driver-x was not Ready while slow still held devices" in caught.value.observed
