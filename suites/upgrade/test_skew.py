"""A driver is updated in a cluster whose nodes were not all upgraded."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.upgrade.each_node import appearances, how_it_went, lacks
from fixtures.upgrade.rollouts import roll_out
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "upgrade.skew.old-kubelet",
    level="extended",
    source="GP-3",
    hint="let versions of the driver never overlap on nodes whose kubelet is older than 1.33: give those nodes, by a "
    "label, a DaemonSet of their own with maxSurge 0, or set maxSurge 0 everywhere until all nodes are upgraded; where "
    "the driver is lost, delete its pod",
    capabilities=("old-kubelet",),
    disturbs="rollout",
    topology="skew",
)
def test_old_kubelet(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """After a rollout every node, also with an old kubelet, has driver and complete pool, and starts and ends pods."""
    workloads.template("single")
    before = {node: f"before-on-{node}" for node in driver.nodes}
    after = {node: f"after-on-{node}" for node in driver.nodes}
    for node, pod in before.items():
        workloads.pod(pod, templates={"device": "single"}, node=node)
    for pod in before.values():
        workloads.await_running(pod)
    roll_out(driver)
    for node in driver.nodes:
        workloads.delete(before[node])
        workloads.pod(after[node], templates={"device": "single"}, node=node)
    problems = lacks(driver, workloads, start=after, end=before)
    for sentence in how_it_went(driver, check_run.stretch()):
        check_run.note(sentence)
    expect(not problems, "the driver serves on every node after its rollout", "; ".join(problems), appearances(driver))
    no_device_leaked(driver, workloads)
