"""Several nodes are drained at once."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.cluster.handle import ClusterHandle
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.drain_checks.budget import Budget
from fixtures.drain_checks.gate import await_held
from fixtures.drain_checks.timings import BUDGET_HOLDS
from fixtures.drain_checks.ways import Drains
from fixtures.driver.driver import Driver
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "drain.parallel.two-nodes",
    level="core",
    source="GP-6",
    hint="end pods of drained nodes by the Eviction API, which asks PodDisruptionBudgets, not by deletion",
    disturbs="node",
)
def test_two_nodes(
    driver: Driver, workloads: Workloads, quiet_nodes: list[QuietNode], drains: Drains, cluster: ClusterHandle
) -> None:
    """Two nodes drained at once, each in another way, both end, and a PodDisruptionBudget over both is respected."""
    pods, (first, second) = ("left", "right"), (node.name for node in quiet_nodes)
    workloads.template("single")
    for pod, node in zip(pods, (first, second), strict=True):
        workloads.pod(pod, templates={"device": "single"}, node=node)
        workloads.await_running(pod)
    budget = Budget(driver, workloads)
    with drains.draining(first, drains.ways[0]) as one, drains.draining(second, drains.ways[-1]) as other:
        drains.await_begun(first, second)
        budget.await_gone(*pods, but=1)
        budget.holds(BUDGET_HOLDS)
        workloads.pod("substitute", node=cluster.workers[0].name)
        workloads.await_running("substitute")
        budget.await_gone(*pods)
        one.await_end()
        other.await_end()
        for node in (first, second):
            await_held(driver, node)
    no_device_leaked(driver, workloads)
