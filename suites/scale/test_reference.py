"""The page's load, with claims and without, in the same run."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.scale import baseline, cost, diagnosis, thresholds
from fixtures.scale.loads import Loads

SIMULATED = ("simulated-nodes",)


@check(
    "scale.reference.meets-baseline",
    level="extended",
    source="GP-7c",
    hint="see which stage is slow (scale.bottleneck.named); the page's remedy for claims from templates is a higher "
    "--kube-api-qps and --kube-api-burst of kube-controller-manager (75 and 150 on 100 nodes)",
    capabilities=SIMULATED,
    topology="scale",
)
def test_meets_baseline(check_run: CheckRun, loads: Loads) -> None:
    """Pods with claims start within the targets while the cluster fills and while pods come and go in it."""
    reference = loads.reference()
    check_run.measurements += baseline.measurements(reference)
    check_run.tables.append(baseline.table(reference))
    check_run.note(baseline.pace(reference))
    missed = baseline.misses(reference.claims, reference.plain.filling.whole)
    expect(not missed, "pods with claims start within the targets", "; ".join(missed))


@check(
    "scale.reference.queue-drains",
    level="extended",
    source="GP-8",
    hint="look for what keeps claims: finalizers that nobody takes off, admission that refuses their deletion; or for "
    "a controller manager that is too slow (--kube-api-qps, --kube-api-burst)",
    capabilities=SIMULATED,
    topology="scale",
)
def test_queue_drains(loads: Loads) -> None:
    """After the load the queue of the claim controller is empty again, and no claim is left."""
    reference = loads.reference()
    left = reference.claims.clearing
    expect(
        not (left.claims or left.pods or reference.queue_left),
        "pods, claims and entries of the resource_claim queue are gone after the load",
        f"{left.pods} pods, {left.claims} claims, {reference.queue_left:.0f} entries are left {left.took:.0f} s later",
    )


@check(
    "scale.cost.per-pod",
    level="extended",
    source="GP-7",
    hint="compare the calls of each component with those of a healthy cluster: who repeats calls, and what refuses "
    "them (events FailedResourceClaimCreation, metric rest_client_requests_total by code)?",
    capabilities=SIMULATED,
    topology="scale",
)
def test_cost(check_run: CheckRun, loads: Loads) -> None:
    """A claim adds no more API calls to a pod's life than claiming, allocating and releasing need."""
    reference = loads.reference()
    check_run.measurements += cost.measurements(reference)
    check_run.tables.append(cost.table(reference))
    added = cost.added_calls(reference)
    expect(
        added <= thresholds.CALLS,
        f"at most {thresholds.CALLS:g} API calls of controller manager and scheduler more per pod",
        f"{added:.1f} more",
    )


@check(
    "scale.diagnosis.page-rules",
    level="extended",
    source="GP-8",
    hint="the diagnosis names the page's remedy",
    capabilities=SIMULATED,
    topology="scale",
)
def test_page_rules(check_run: CheckRun, loads: Loads) -> None:
    """Under the page's load neither of its two diagnoses of the claim controller is true."""
    reference = loads.reference()
    signs, rate = diagnosis.signs(reference.queue), reference.claims.filling.pace.rate
    check_run.tables.append(diagnosis.table(signs, rate))
    found = diagnosis.diagnose(signs, rate)
    expect(
        found is None,
        "the claim controller keeps up with the load",
        found and f"{found.rule} ({found.signs}); remedy: {found.remedy}",
    )
