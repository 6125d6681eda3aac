"""A node shuts down in good order."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.drain_checks.shutdown import priority_of, shutdown_of
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.workload.workloads import Workloads


@check(
    "drain.shutdown.order",
    level="core",
    source="GP-6",
    hint="give the driver's pods priorityClassName: system-node-critical",
)
def test_order(driver: Driver, workloads: Workloads, check_run: CheckRun) -> None:
    """In a graceful node shutdown the kubelet ends the pods that hold devices before it ends the driver."""
    workloads.template("single")
    workloads.pod("holder", templates={"device": "single"}, node=driver.nodes[0])
    holder = priority_of(workloads.await_running("holder"))
    for pod in driver.pods():
        node, priority = pod["spec"]["nodeName"], priority_of(pod)
        shutdown = shutdown_of(check_run.kube, node)
        expect(
            shutdown.group(priority) > shutdown.group(holder),
            f"on {node} the driver (priority {priority}) in a later group than a pod with a claim (priority {holder})",
            f"groups begin at priorities {shutdown.thresholds}",
        )
        check_run.note(
            f"Judged from the priorities by which the kubelet of {node} orders a shutdown, not from a shutdown: nodes "
            f"that are containers announce none. Graceful shutdown is {'on' if shutdown.enabled else 'off'} there."
        )
