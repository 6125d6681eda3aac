"""Two versions of a driver overlap during an update: users notice nothing."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver import pools
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.upgrade.overlap import overlap_problems, roll_out_step_by_step
from fixtures.upgrade.pod_churn import roll_out_under_churn
from fixtures.upgrade.rollouts import roll_out
from fixtures.upgrade.timings import ALLOWANCE, WITHDRAWN
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "upgrade.seamless.declared",
    level="extended",
    source="GP-3",
    hint="maxSurge 1, maxUnavailable 0, and the pod's UID (downward API) as part of the socket names",
    features=("rolling-update",),
)
def test_declared(driver: Driver) -> None:
    """The DaemonSet starts a new version before it stops the old one, and tells each pod its UID."""
    problems = overlap_problems(driver)
    expect(
        not problems,
        "RollingUpdate with maxSurge of 1 or more and maxUnavailable 0; the container is told its pod's UID",
        "; ".join(problems),
    )


@check(
    "upgrade.seamless.overlap",
    level="extended",
    source="GP-3",
    hint="name the sockets after the pod UID, and be Ready only once the kubelet has registered the new pod",
    features=("rolling-update",),
    disturbs="rollout",
    alters=True,
)
def test_overlap(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """Both versions are registered with each kubelet at the same time, and no node is without its driver meanwhile."""
    seen = roll_out_step_by_step(driver)
    check_run.note(str(seen))
    expect(
        not seen.problems, "an old and a new registration at once on each node, never none", "; ".join(seen.problems)
    )
    no_device_leaked(driver, workloads)


@check(
    "upgrade.seamless.new-pods-start",
    level="extended",
    source="GP-3a",
    hint="maxSurge 1, maxUnavailable 0, pod-UID socket names, Ready only once the kubelet has registered the new pod",
    features=("rolling-update",),
    disturbs="rollout",
)
def test_new_pods_start(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """Pods created all through the rollout start with no failed prepare, about as fast as before or without a claim."""
    starts = roll_out_under_churn(driver, workloads)
    check_run.note(str(starts))
    failures = workloads.failed_prepares()
    limit = 2 * starts.usual + ALLOWANCE
    slow = [f"{s.pod} after {s.took:.1f} s" for s in starts.judged if s.took > limit and s.pod not in failures.others]
    problems = [*slow, *failures.by_driver.values(), *starts.refused]
    expect(
        not problems,
        f"each of {len(starts.judged)} pods Running within {limit:.1f} s, no failed prepare",
        "; ".join(problems)[:900],
        f"{starts}; {failures.context}",
    )
    no_device_leaked(driver, workloads)


@check(
    "upgrade.seamless.slices-continuous",
    level="extended",
    source="GP-3",
    hint="never delete slices on stop, publish the same content in both versions, and keep each version's own sockets",
    features=("rolling-update",),
    disturbs="rollout",
)
def test_slices_continuous(check_run: CheckRun, driver: Driver, workloads: Workloads) -> None:
    """No slice is deleted or recreated by a rollout, and pools stay complete."""
    pools.await_complete(driver)
    roll_out(driver)
    pools.stay_complete(driver, WITHDRAWN)
    touched = [seen for seen in check_run.stretch() if seen.kind == "ResourceSlice" and seen.change == "DELETED"]
    expect(
        not touched,
        "no slice deleted during and after the rollout",
        ", ".join(f"{seen.name} deleted at +{seen.at - driver.disturbances[0].at:.1f} s" for seen in touched),
    )
    no_device_leaked(driver, workloads)
