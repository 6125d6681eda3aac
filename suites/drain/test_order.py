"""A drain ends the driver last, if at all."""

from __future__ import annotations

from fixtures.checks import check
from fixtures.drain import Drains, stays_ready_until_gone
from fixtures.driver import Driver
from fixtures.leaks import no_device_leaked
from fixtures.nodes import QuietNode
from fixtures.workloads import Workloads


@check(
    "drain.order.driver-last",
    level="core",
    source="GP-6",
    hint="tie the driver's life on a node to its claims there, not to the node being schedulable",
    capabilities=("node-shell",),
    disruptive=True,
)
def test_driver_last(driver: Driver, workloads: Workloads, quiet_node: QuietNode, drains: Drains) -> None:
    """During a drain the driver stays Ready until the last pod that holds its devices on the node is gone."""
    workloads.template("single")
    for way in drains.ways:
        workloads.pod("quick", templates={"device": "single"}, node=quiet_node.name)
        workloads.pod("slow", templates={"device": "single"}, node=quiet_node.name, linger=6)
        for pod in ("quick", "slow"):
            workloads.running(pod)
        with drains.draining(quiet_node.name, way):
            stays_ready_until_gone(driver, quiet_node.name, ["quick", "slow"])
    no_device_leaked(driver, workloads)
