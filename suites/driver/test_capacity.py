"""What a driver advertises can really be had."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.driver.driver import Driver
from fixtures.workload.workloads import Workloads


@check(
    "driver.capacity.every-device-allocatable",
    level="core",
    source="GP-4b",
    hint="devices that cannot be held at once share an id (see driver.slices.pool-per-node) or leak in unprepare",
)
def test_every_device_allocatable(driver: Driver, workloads: Workloads) -> None:
    """All advertised devices of all nodes can be held at once, and again afterwards."""
    workloads.template("single")
    for turn in ("first", "second"):
        pods = [f"{turn}-{index}" for index in range(len(driver.nodes))]
        for pod, node in zip(pods, driver.nodes, strict=True):
            workloads.fill(pod, node)
        for pod in pods:
            workloads.await_running(pod)
        for pod in pods:
            workloads.delete(pod)
        workloads.await_gone(*pods)
