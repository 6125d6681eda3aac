"""The metrics that the page tells admins to watch."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.scale.page_metrics import missing
from fixtures.workload.workloads import Workloads


@check(
    "scale.metrics.exposed",
    level="core",
    source="GP-8",
    hint="let the component serve the metric; a driver serves those of the kubeletplugin helper on a port",
)
def test_exposed(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """Each metric that the page names exists with its labels once a claim was prepared and unprepared."""
    node = driver.nodes[0]
    workloads.template("single")
    workloads.pod("holder", templates={"device": "single"}, node=node)
    workloads.await_running("holder")
    workloads.delete("holder")
    workloads.await_gone("holder")
    absent = missing(check_run.kube, check_run.handle, driver, node)
    expect(not absent, "every metric of the page is served", f"missing: {'; '.join(absent)}")
