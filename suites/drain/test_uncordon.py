"""The node comes back after its drain."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.drain_checks.gate import await_gone_from
from fixtures.drain_checks.order import stays_until_gone
from fixtures.drain_checks.ways import Drains
from fixtures.driver.driver import Driver
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "drain.uncordon.heals",
    level="extended",
    source="GP-6",
    hint="after the maintenance undo what let the driver go: label or taint, and what an operator knows of the node",
    disturbs="node",
)
def test_heals(driver: Driver, workloads: Workloads, quiet_node: QuietNode, drains: Drains) -> None:
    """Drained, rid of its driver, uncordoned and given back to the driver, a node takes claims again."""
    node, release = quiet_node.name, quiet_node.release
    workloads.template("single")
    workloads.pod("before", templates={"device": "single"}, node=node, linger=3)
    workloads.await_running("before")
    let_go = drains.own("--driver", driver.name, "--release", release)
    with drains.draining(node, let_go) as drain:
        stays_until_gone(driver, node, ["before"])
        drain.await_end()
        await_gone_from(driver, node, 0)
    quiet_node.label()
    driver.await_up()
    workloads.pod("after", templates={"device": "single"}, node=node)
    workloads.await_running("after")
    no_device_leaked(driver, workloads)
