"""The driver went first, against the practice."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.drain_checks.gate import await_held
from fixtures.drain_checks.order import await_evicted
from fixtures.drain_checks.timings import STUCK
from fixtures.drain_checks.ways import Drains
from fixtures.driver.driver import Driver
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "drain.wrong-order.stuck-then-heals",
    level="core",
    source="GP-6",
    hint="no pod may end whose devices were not unprepared: look for forced deletion, or a second installation",
    disturbs="driver",
)
def test_stuck_then_heals(driver: Driver, workloads: Workloads, quiet_node: QuietNode, drains: Drains) -> None:
    """Drained after its driver, a node keeps its pods Terminating, and the drain says why; the driver back, it ends."""
    workloads.template("single")
    workloads.pod("holder", templates={"device": "single"}, node=quiet_node.name)
    workloads.await_running("holder")
    driver.stop()
    with drains.draining(quiet_node.name, drains.ways[-1]) as drain:
        await_evicted(driver, "holder")
        workloads.stays_terminating("holder", STUCK)
        why = "holder" if drains.command else f"{driver.name} is not registered with the kubelet"
        drain.await_said(why, within=driver.timeouts["event_seen"])
        driver.start()
        workloads.await_gone("holder", timeout="pod_gone_after_return")
        drain.await_end()
    await_held(driver, quiet_node.name)
    no_device_leaked(driver, workloads)
