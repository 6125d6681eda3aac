"""Updates that are taken back, because the new version is broken or is not wanted."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver import pools
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.upgrade.pod_churn import start_on_each_node
from fixtures.upgrade.rollouts import begin_failing, broken_versions, roll_back, roll_out
from fixtures.upgrade.termination import terminate
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "upgrade.seamless.failed-rollout",
    level="extended",
    source="GP-3",
    hint="a new version must not touch sockets, registrations or state of the old one before it has proven to work",
    features=("rolling-update",),
    disturbs="rollout",
    alters=True,
)
def test_failed_rollout(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """A broken new version leaves the old one serving: pods start on each node, and the rollout can be taken back."""
    workloads.template("single")
    usual = start_on_each_node(driver, workloads, "before")
    for number, broken in enumerate(broken_versions(driver)):
        begin_failing(driver, broken)
        took = start_on_each_node(driver, workloads, f"broken-{number}")
        check_run.note(f"pods start in {took:.1f} s beside a version that {broken.how}, in {usual:.1f} s before")
    roll_back(driver)
    pools.await_complete(driver)
    no_device_leaked(driver, workloads)


@check(
    "upgrade.seamless.rollback",
    level="extended",
    source="GP-3",
    hint="write a format of the state that the version before can read, until the next version",
    features=("rolling-update", "downgrade"),
    capabilities=("node-shell",),
    disturbs="rollout",
    across_versions=True,
)
def test_rollback(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """An update can be taken back: the old version releases what the new one prepared, and pods start again."""
    workloads.template("single")
    roll_out(driver)
    for node in driver.nodes:
        driver.await_registered(node)
    pods = [f"holder-{index}" for index in range(len(driver.nodes))]
    for pod, node in zip(pods, driver.nodes, strict=True):
        workloads.pod(pod, templates={"device": "single"}, node=node)
    for pod in pods:
        workloads.await_running(pod)
    roll_back(driver)
    for node in driver.nodes:
        driver.await_registered(node)
    released = terminate(driver, workloads, pods)
    check_run.note(f"pods of the new version were gone {released.took:.1f} s after their deletion under the old one")
    expect(not released.left, "no CDI file of released claims", f"left: {', '.join(released.left)}")
    took = start_on_each_node(driver, workloads, "after")
    check_run.note(f"pods start in {took:.1f} s after the rollback")
    no_device_leaked(driver, workloads)
