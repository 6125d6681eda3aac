"""The driver comes back: what waited for it goes on by itself, and its slices are whole again."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.driver.check_run import CheckRun
from fixtures.driver.disruptions import vanish
from fixtures.driver.driver import Driver
from fixtures.upgrade.downtime import await_withdrawn
from fixtures.upgrade.extra_instances import ExtraInstances
from fixtures.upgrade.outages import sweep
from fixtures.upgrade.record_times import RecordTimes
from fixtures.upgrade.timings import OUTAGES, SOON
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads

_CLAIMS = 3
"""At once on a node: of a pod that is deleted, of one that is created just then, and of one that is a little later."""


@check(
    "upgrade.downtime.recovers",
    level="core",
    source="GP-4",
    hint="a driver that starts must register with the kubelet and publish its slices, whatever it finds on the node",
    capabilities=("node-shell",),
    disturbs="driver",
)
def test_recovers(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """When the driver is back, pods that were deleted or created meanwhile end and start without a manual step."""

    def on_each_node(name: str) -> list[str]:
        for number, node in enumerate(driver.nodes):
            workloads.pod(f"{name}-{number}", templates={"device": "single"}, node=node)
        return [f"{name}-{number}" for number, _ in enumerate(driver.nodes)]

    workloads.template("single")
    room = min(workloads.room.by_node.get(node, _CLAIMS) for node in driver.nodes)
    deleted = on_each_node("deleted")
    for pod in deleted:
        workloads.await_running(pod)
    vanish(driver, driver.nodes[0])
    for pod in deleted:
        workloads.delete(pod)
    created = on_each_node("at-once") if room > 1 else []
    workloads.stays_terminating(deleted[0], SOON)
    created += on_each_node("soon") if room >= _CLAIMS else []
    for pod in created:
        workloads.await_event(pod, "FailedPrepareDynamicResources")
    await_withdrawn(driver)
    unscheduled = on_each_node("late")
    for pod in unscheduled:
        workloads.await_event(pod, "FailedScheduling")

    driver.start()
    workloads.await_gone(*deleted, timeout="pod_gone_after_return")
    for pod in (*created, *unscheduled):
        workloads.await_running(pod)
    since = RecordTimes(check_run.stretch(), driver.disturbances[-1].at)
    check_run.note(
        f"after the driver was started again, pods deleted meanwhile were gone within {since.gone(*deleted):.0f} s, "
        + (f"pods that waited on their nodes ran within {since.ready(*created):.0f} s, " if created else "")
        + f"unscheduled ones within {since.ready(*unscheduled):.0f} s"
    )
    if room < _CLAIMS:
        check_run.note(f"a node holds {room} claims at once, so that not more pods waited there for the driver")
    no_device_leaked(driver, workloads)


@check(
    "upgrade.downtime.slices",
    level="core",
    source="GP-4",
    hint="a driver must not delete its slices when it stops, and must create them anew when somebody deletes them, "
    "also just after its start",
    capabilities=("node-shell",),
    disturbs="driver",
)
def test_slices(check_run: CheckRun, driver: Driver, workloads: Workloads, extra_instances: ExtraInstances) -> None:
    """Slices stay while the driver is away for a short time, are withdrawn after 30 s, and come back complete."""
    drivers = [*extra_instances.install(len(OUTAGES) - 1), driver]
    sweep(check_run, drivers, OUTAGES[-len(drivers) :])
    no_device_leaked(driver, workloads)
