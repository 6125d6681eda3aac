"""The driver is away: what waits for it, and why."""

from __future__ import annotations

from fixtures.checks import check
from fixtures.driver import Driver
from fixtures.outcomes import expect
from fixtures.workloads import Workloads

OBSERVED = 20.0


@check(
    "upgrade.downtime.unprepared-claim-waits",
    level="core",
    source="GP-4a",
    hint="something serves this driver's sockets though its DaemonSet is gone: look for a second installation",
    disruptive=True,
)
def test_unprepared_claim_waits(driver: Driver, workloads: Workloads) -> None:
    """While the driver is away a pod with a new claim does not start, and its event says why."""
    workloads.template("single")
    driver.stop()
    workloads.pod("waiter", templates={"device": "single"})
    workloads.stays_waiting("waiter", OBSERVED)
    message = workloads.told("waiter", "FailedPrepareDynamicResources", "FailedScheduling")
    expect(driver.name in message or "claim" in message, f"an event that names {driver.name} or the claim", message)


@check(
    "upgrade.downtime.cleanup-delayed",
    level="core",
    source="GP-4b",
    hint="nothing may finish a pod whose devices were not unprepared: look for force deletion or a second installation",
    disruptive=True,
)
def test_cleanup_delayed(driver: Driver, workloads: Workloads) -> None:
    """While the driver is away the last pod of a claim stays Terminating and keeps its claim; then all of it ends."""
    workloads.template("single")
    workloads.pod("leaver", templates={"device": "single"})
    workloads.running("leaver")
    claim = workloads.claims_of("leaver")["device"]["metadata"]["uid"]
    driver.stop()
    workloads.delete("leaver")
    workloads.stays_terminating("leaver", OBSERVED)
    workloads.still_reserved(claim)
    driver.start()
    workloads.gone("leaver", timeout="pod_gone_after_return")
    workloads.released([claim])
