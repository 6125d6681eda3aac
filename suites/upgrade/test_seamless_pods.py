"""Pods whose life spans an update: what the old version of a driver began, the new one goes on with."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.upgrade.device_health import health_of
from fixtures.upgrade.in_flight import roll_out_in_flight
from fixtures.upgrade.rollouts import roll_out
from fixtures.upgrade.termination import terminate
from fixtures.upgrade.timings import ALLOWANCE
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.pod_state import losses, pod_state
from fixtures.workload.workloads import Workloads


@check(
    "upgrade.seamless.running-pods-survive",
    level="extended",
    source="GP-4c",
    hint="a driver that starts must leave prepared claims, their CDI files and the devices in use as they are",
    features=("rolling-update",),
    capabilities=("node-shell",),
    disturbs="rollout",
)
def test_running_pods_survive(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """Running pods neither restart nor lose their devices while two versions overlap."""
    workloads.template("single")
    pods = [f"holder-{index}" for index in range(len(driver.nodes))]
    for pod, node in zip(pods, driver.nodes, strict=True):
        workloads.pod(pod, templates={"device": "single"}, node=node)
    for pod in pods:
        workloads.await_running(pod)
    before = {pod: held for pod in pods if (held := pod_state(driver, workloads, pod))}
    with health_of(workloads) as health:
        roll_out(driver)
    check_run.note(str(health))
    lost = [loss for pod, held in before.items() for loss in losses(pod, held, pod_state(driver, workloads, pod))]
    expect(not lost, f"{', '.join(pods)} run on in the same containers, with their claims and devices", "; ".join(lost))
    no_device_leaked(driver, workloads)


@check(
    "upgrade.seamless.cross-version-release",
    level="extended",
    source="GP-4b",
    hint="keep prepared claims on disk, where both versions find them, and let either release what the other prepared",
    features=("rolling-update",),
    capabilities=("node-shell",),
    disturbs="rollout",
    across_versions=True,
)
def test_cross_version_release(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """What the old version prepared, the new one unprepares: the pod is soon gone, and its device free."""
    workloads.template("single")
    indexed = list(enumerate(driver.nodes))
    early, late = [f"early-{index}" for index, _ in indexed], [f"late-{index}" for index, _ in indexed]
    for index, node in indexed:
        workloads.pod(early[index], templates={"device": "single"}, node=node)
        workloads.pod(late[index], templates={"device": "single"}, node=node)
    for pod in early + late:
        workloads.await_running(pod)
    within = terminate(driver, workloads, early)
    roll_out(driver)
    for node in driver.nodes:
        driver.await_registered(node)
    across = terminate(driver, workloads, late)
    check_run.note(
        f"pods were gone after {within.took:.1f} s where one version prepared and unprepared, "
        f"after {across.took:.1f} s where the old one prepared and the new one unprepared"
    )
    limit = 2 * within.took + ALLOWANCE
    expect(
        not across.left and across.took < limit,
        f"pods gone within {limit:.1f} s, no CDI file of their claims left",
        f"gone after {across.took:.1f} s, left: {', '.join(across.left) or 'nothing'}",
        f"pods of which the old version did both were gone after {within.took:.1f} s",
    )
    no_device_leaked(driver, workloads)


@check(
    "upgrade.seamless.in-flight",
    level="extended",
    source="GP-3a",
    hint="on SIGTERM finish the calls that are being served, let no new ones in, and only then end",
    features=("rolling-update",),
    disturbs="rollout",
    fake=True,
)
def test_in_flight(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """A prepare that is in flight when the old version is told to stop ends well, and is not repeated."""
    workloads.template("single")
    flight = roll_out_in_flight(driver, workloads, driver.nodes[0], "passenger")
    check_run.note(f"prepares, in seconds since the old version was told to stop: {flight}")
    failures = workloads.failed_prepares()
    expect(
        flight.over and not failures.by_driver,
        "one prepare, begun before the old version was told to stop and ended well after it",
        "; ".join([str(flight), *failures.by_driver.values()]),
        failures.context,
    )
    no_device_leaked(driver, workloads)
