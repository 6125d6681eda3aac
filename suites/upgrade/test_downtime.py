"""The driver is away: what waits for it, and what does not."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect, inconclusive
from fixtures.cluster.nodes.shell import kubelet_version
from fixtures.driver.check_run import CheckRun
from fixtures.driver.disruptions import freeze, hangs, thaw, vanish
from fixtures.driver.driver import Driver
from fixtures.upgrade.downtime import await_devices_left, await_refusal, held_by, keep_devices
from fixtures.upgrade.record_times import RecordTimes
from fixtures.upgrade.survival import crash_containers, live_on
from fixtures.upgrade.timings import AWAY, PAST_WITHDRAWAL, REGISTRATION_LOOK, SOON
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.pod_state import changed
from fixtures.workload.proofs import seen_devices
from fixtures.workload.workloads import Workloads


@check(
    "upgrade.downtime.unprepared-claim-waits",
    level="core",
    source="GP-4a",
    hint="something serves this driver's sockets though its DaemonSet is gone: look for a second installation",
    disturbs="driver",
)
def test_unprepared_claim_waits(driver: Driver, workloads: Workloads) -> None:
    """While the driver is away a pod with a new claim does not start, and its event says why."""
    workloads.template("single")
    driver.stop()
    workloads.pod("waiter", templates={"device": "single"})
    workloads.stays_waiting("waiter", AWAY)
    message = workloads.await_event("waiter", "FailedPrepareDynamicResources", "FailedScheduling")
    expect(driver.name in message or "claim" in message, f"an event that names {driver.name} or the claim", message)
    driver.start()
    no_device_leaked(driver, workloads)


@check(
    "upgrade.downtime.prepared-claim-starts",
    level="extended",
    source="GP-4a",
    hint="nothing but the driver itself may unregister it: look for a watchdog or sidecar that removes its sockets",
    features=("shared-claims",),
    capabilities=("node-shell",),
    disturbs="driver",
)
def test_prepared_claim_starts(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """While the driver hangs, or has crashed with its registration standing, another pod of a prepared claim starts."""
    crashed, *left = driver.nodes
    for node in driver.nodes:
        workloads.claim(f"of-{node}")
        workloads.pod(f"first-on-{node}", claims={"device": f"of-{node}"}, node=node)
    for node in driver.nodes:
        workloads.await_running(f"first-on-{node}")

    vanish(driver, crashed)
    for node in driver.nodes:
        workloads.pod(f"second-on-{node}", claims={"device": f"of-{node}"}, node=node)
    refusals = {node: await_refusal(workloads, f"second-on-{node}") for node in driver.nodes}
    expect(
        not refusals[crashed],
        f"a pod of a prepared claim starts on {crashed}, where the driver crashed and left its socket",
        refusals[crashed],
    )
    driver.start()
    # The registration that the crash left stands until the kubelet sees the new one, and hides that it is not done yet.
    live_on(workloads, [f"first-on-{crashed}"], SOON)

    freeze(driver, crashed)
    live_on(workloads, [f"first-on-{crashed}"], REGISTRATION_LOOK)
    workloads.pod("while-hung", claims={"device": f"of-{crashed}"}, node=crashed)
    hung = await_refusal(workloads, "while-hung")
    if hung and not hangs(driver, crashed):
        inconclusive(f"the kubelet restarted the hung driver before the pod could start: {hung}")
    expect(not hung, f"a pod of a prepared claim starts while the driver on {crashed} hangs", hung)
    thaw(driver, crashed)
    check_run.note(
        "the page says that a pod whose claim is prepared can start while the driver is down; "
        f"kubelet {kubelet_version(driver.kube, crashed)} started one while the driver hung, and after its crash"
    )
    for node in left:
        seen = f"waits, as kubelets do since 1.34: {refusals[node]}" if refusals[node] else "started one too"
        check_run.note(f"after a clean stop kubelet {kubelet_version(driver.kube, node)} {seen}")
    no_device_leaked(driver, workloads)


@check(
    "upgrade.downtime.cleanup-delayed",
    level="core",
    source="GP-4b",
    hint="nothing may finish a pod whose devices were not unprepared: look for force deletion or a second installation",
    disturbs="driver",
)
def test_cleanup_delayed(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """While the driver is away the last pod of a claim stays Terminating and keeps its claim; then all of it ends."""
    workloads.template("single")
    workloads.pod("leaver", templates={"device": "single"})
    workloads.await_running("leaver")
    claim = workloads.claims_of("leaver")["device"]["metadata"]["uid"]
    driver.stop()
    workloads.delete("leaver")
    workloads.stays_terminating("leaver", AWAY)
    workloads.still_reserved(claim)
    driver.start()
    workloads.await_gone("leaver", timeout="pod_gone_after_return")
    workloads.await_released([claim])
    gone = RecordTimes(check_run.stretch(), driver.disturbances[-1].at).gone("leaver")
    check_run.note(f"the pod was gone {gone:.1f} s after the driver was started again")
    no_device_leaked(driver, workloads)


@check(
    "upgrade.downtime.devices-not-reused",
    level="core",
    source="GP-4b",
    hint="nothing may deallocate a claim whose devices were not unprepared: look for jobs that force-delete pods, "
    "strip finalizers or edit claim status, and for a second installation",
    capabilities=("node-shell",),
    disturbs="driver",
)
def test_devices_not_reused(driver: Driver, workloads: Workloads) -> None:
    """While the driver is away nobody else gets the devices of a pod that was deleted, and then they are free again."""
    workloads.template("single")
    for node in driver.nodes:
        workloads.fill(f"leaver-on-{node}", node)
    leavers = [f"leaver-on-{node}" for node in driver.nodes]
    for pod in leavers:
        workloads.await_running(pod)
    held = held_by(workloads, leavers)
    vanish(driver, driver.nodes[0])
    for node in driver.nodes:
        workloads.delete(f"leaver-on-{node}")
        workloads.pod(f"next-on-{node}", templates={"device": "single"}, node=node)
    keep_devices(workloads, held, AWAY)
    driver.come_back()
    await_devices_left(workloads, held)
    driver.await_up()
    for node in driver.nodes:
        workloads.await_running(f"next-on-{node}")
    no_device_leaked(driver, workloads)


@check(
    "upgrade.downtime.running-pods-survive",
    level="core",
    source="GP-4c",
    hint="a driver that starts must leave prepared claims and their CDI files alone; nothing may evict pods because "
    "their driver is away",
    capabilities=("node-shell",),
    disturbs="driver",
)
def test_running_pods_survive(driver: Driver, workloads: Workloads) -> None:
    """Pods run on while the driver is away and when it is back, and their containers may restart with their devices."""
    workloads.template("single")
    pods = [f"on-{node}" for node in driver.nodes]
    for pod, node in zip(pods, driver.nodes, strict=True):
        workloads.pod(pod, templates={"device": "single"}, node=node)
    for pod in pods:
        workloads.await_running(pod)
    devices = {pod: seen_devices(workloads, pod) for pod in pods}
    vanish(driver, driver.nodes[0])
    crash_containers(driver, workloads, pods)
    live_on(workloads, pods, PAST_WITHDRAWAL)
    away = {pod: seen_devices(workloads, pod) for pod in pods}
    expect(away == devices, "restarted containers see their devices while the driver is away", _changes(devices, away))
    driver.start()
    crash_containers(driver, workloads, pods)
    back = {pod: seen_devices(workloads, pod) for pod in pods}
    expect(back == devices, "restarted containers see their devices when the driver is back", _changes(devices, back))
    no_device_leaked(driver, workloads)


def _changes(before: dict[str, set[str]], now: dict[str, set[str]]) -> str:
    return "; ".join(f"{pod} {changed(seen, now[pod])}" for pod, seen in before.items() if now[pod] != seen)
