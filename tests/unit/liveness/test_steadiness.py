"""A driver under load, held up, and watched: what counts as a restart."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.cluster.nodes.shell import DockerShell, NodeShell
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.liveness import steadiness as module
from fixtures.liveness.steadiness import burden, steadiness
from fixtures.workload.room import room_of
from fixtures.workload.workloads import Workloads

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"


def driver_pod(restarts: int = 0, name: str = "driver-x") -> Object:
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": SPACE,
            "ownerReferences": [{"name": "driver-1a2b3c", "controller": True}],
        },
        "spec": {"nodeName": "n"},
        "status": {
            "containerStatuses": [{"name": "driver", "containerID": "containerd://d", "restartCount": restarts}],
        },
    }


def run(memory: Memory, name: str) -> None:
    item = memory.get("Pod", name, SPACE)
    item["status"] = {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]}
    memory.put(item)


@pytest.fixture
def driver(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setattr(module, "STALL", 0.2)
    monkeypatch.setattr(NodeShell, "serving_processes", lambda _, __: [7])
    monkeypatch.setattr(NodeShell, "signal", lambda _, pid, name: memory.done.append(f"{name} {pid}"))
    memory.put(driver_pod())
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return Driver(memory, instance, ["n"], {"n": DockerShell("n", Path("docker"))}, Timeouts())


@pytest.fixture
def workloads(driver: Driver) -> Workloads:
    return Workloads(driver.kube, driver.instance, driver.timeouts)


def put_slice(memory: Memory, devices: int) -> None:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {
        "driver": "d-1a2b3c.fake.dra",
        "nodeName": "n",
        "pool": pool,
        "devices": [{"name": f"device-{i}"} for i in range(devices)],
    }
    memory.put({"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})


@pytest.mark.parametrize(("devices", "pods"), [(1, 2), (8, 16), (100, 16)])
def test_a_burden_wants_each_device_twice(
    memory: Memory, driver: Driver, workloads: Workloads, devices: int, pods: int
) -> None:
    put_slice(memory, devices)
    names = burden(workloads.within(room_of(driver, driver.slices())), "n")
    assert len(names) == pods
    assert all(("Pod", SPACE, name) in memory.objects for name in names)


def test_pods_that_ran_make_room_and_those_put_off_are_not_waited_for(
    memory: Memory, driver: Driver, workloads: Workloads
) -> None:
    put_slice(memory, 2)
    names = burden(workloads.within(room_of(driver, driver.slices())), "n")
    failed: Object = {
        "kind": "Event",
        "metadata": {"name": "e", "namespace": SPACE, "creationTimestamp": ""},
        "involvedObject": {"name": names[3]},
        "reason": "FailedPrepareDynamicResources",
        "message": "not registered",
    }
    memory.put(failed)
    memory.later = [partial(run, memory, name) for name in names[:3]]
    steadiness(driver).await_all_ran(workloads, names)
    assert memory.done[-3:] == [f"delete Pod/{name}" for name in names[:3]]


def test_a_restart_under_load_ends_the_wait(memory: Memory, driver: Driver, workloads: Workloads) -> None:
    put_slice(memory, 2)
    watch, names = steadiness(driver), burden(workloads.within(room_of(driver, driver.slices())), "n")
    memory.later = [lambda: memory.put(driver_pod(restarts=1))]
    with pytest.raises(CheckFailed, match="driver restarted: driver-x"):
        watch.await_all_ran(workloads, names)


def test_earlier_restarts_do_not_count(memory: Memory, driver: Driver) -> None:
    memory.put(driver_pod(restarts=2))
    memory.later = [lambda: memory.put(driver_pod(restarts=2)), lambda: threading.Event().wait(0.2)]
    steadiness(driver).last(0.1)


def test_a_driver_pod_that_is_replaced_counts_as_restarted(memory: Memory, driver: Driver) -> None:
    watch = steadiness(driver)

    def replace() -> None:
        memory.put(driver_pod(name="driver-y"))
        memory.drop("Pod", "driver-x", SPACE)

    memory.later = [replace]
    with pytest.raises(CheckFailed, match="driver-x"):
        watch.last(5)


def test_a_driver_that_is_held_up_goes_on(memory: Memory, driver: Driver) -> None:
    memory.later = [lambda: threading.Event().wait(0.3)]
    steadiness(driver).through_stall("n")
    assert memory.done == ["STOP 7", "CONT 7"]
