"""A node leaves the cluster without a drain."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.drain_checks.gate import await_held
from fixtures.drain_checks.removal import await_orphans_gone, await_unprepared, removed
from fixtures.driver.driver import Driver
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "drain.node-removed.nothing-left",
    level="extended",
    source="GP-6",
    hint="let the Node own the driver's ResourceSlices (ownerReferences), and let it find what was left prepared",
    capabilities=("node-shell", "kubelet-restart", "node-restart"),
    disturbs="node",
)
def test_node_removed(driver: Driver, workloads: Workloads, quiet_node: QuietNode) -> None:
    """With the Node object go its slices, pods and their claims; when the node is back, all its devices can be had."""
    workloads.template("single")
    workloads.pod("orphan", templates={"device": "single"}, node=quiet_node.name)
    workloads.await_running("orphan")
    claims = [claim["metadata"]["uid"] for claim in workloads.claims_of("orphan").values()]
    with removed(driver, quiet_node):
        await_orphans_gone(driver, quiet_node.name)
        await_held(driver, quiet_node.name)
    driver.await_up()
    await_unprepared(driver, quiet_node.name, claims)
    no_device_leaked(driver, workloads)
