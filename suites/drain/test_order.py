"""A drain ends the driver last, if at all, and leaves nothing of the claims behind."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.drain_checks.gate import await_held
from fixtures.drain_checks.order import end_before_they_go, stays_until_gone
from fixtures.drain_checks.ways import Drains
from fixtures.driver.driver import Driver
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "drain.order.driver-last",
    level="core",
    source="GP-6",
    hint="tie the driver's life on a node to its claims there, not to the node being schedulable",
    capabilities=("node-shell",),
    disturbs="node",
)
def test_driver_last(driver: Driver, workloads: Workloads, quiet_node: QuietNode, drains: Drains) -> None:
    """During a drain the driver stays until the last pod that holds its devices on the node is gone."""
    workloads.template("single")
    for way in drains.ways:
        workloads.pod("quick", templates={"device": "single"}, node=quiet_node.name)
        workloads.pod("slow", templates={"device": "single"}, node=quiet_node.name, linger=6)
        for pod in ("quick", "slow"):
            workloads.await_running(pod)
        with drains.draining(quiet_node.name, way):
            stays_until_gone(driver, quiet_node.name, ["quick", "slow"])
    no_device_leaked(driver, workloads)


@check(
    "drain.order.claims-released",
    level="core",
    source="GP-6a",
    hint="nothing may delete pods of a drained node by force: evict them, and wait until the kubelet has ended them",
    capabilities=("node-shell",),
    disturbs="node",
)
def test_claims_released(driver: Driver, workloads: Workloads, quiet_node: QuietNode, drains: Drains) -> None:
    """After a drain the pods ended before they went, no CDI file of theirs is left, and no claim names the node."""
    node, pods = quiet_node.name, ["own", "sharer"]
    workloads.template("single")
    workloads.claim("shared")
    for way in drains.ways:
        workloads.pod("own", templates={"own": "single"}, claims={"shared": "shared"}, node=node, linger=3)
        workloads.pod("sharer", claims={"shared": "shared"}, node=node)
        for pod in pods:
            workloads.await_running(pod)
        uids = [claim["metadata"]["uid"] for claim in workloads.claims_of("own").values()]
        with drains.draining(node, way) as drain:
            end_before_they_go(driver, node, pods)
            drain.await_end()
            left = [file for uid in uids for file in driver.shells[node].cdi_files(uid)]
            expect(not left, "no CDI file of a drained claim on the node", f"still there: {', '.join(left[:3])}")
            await_held(driver, node)
    no_device_leaked(driver, workloads)
