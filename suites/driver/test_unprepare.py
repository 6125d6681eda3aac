"""What is left of a pod's devices when the pod is gone."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.driver import Driver
from fixtures.workload.workloads import Workloads


@check(
    "driver.unprepare.releases",
    level="core",
    source="GP-4b",
    hint="NodeUnprepareResources has to delete the claim's CDI file and forget the device, also from its state file",
    capabilities=("node-shell",),
)
def test_releases(driver: Driver, workloads: Workloads) -> None:
    """When the pod is gone its claim is released, no CDI file of it is left, and its devices can be had again."""
    node = driver.nodes[0]
    workloads.template("single")
    workloads.fill("first", node)
    workloads.await_running("first")
    uids = [claim["metadata"]["uid"] for claim in workloads.claims_of("first").values()]
    workloads.delete("first")
    workloads.await_gone("first")
    workloads.await_released(uids)
    left = [file for uid in uids for file in driver.shells[node].cdi_files(uid)]
    expect(not left, "no CDI file of a released claim on the node", f"still there: {', '.join(left[:3])}")
    workloads.fill("second", node)
    workloads.await_running("second")
