"""Two versions of a driver overlap during an update: users notice nothing."""

from __future__ import annotations

from fixtures import pools
from fixtures.checks import check
from fixtures.driver import Driver
from fixtures.outcomes import expect
from fixtures.rollouts import roll_out
from fixtures.scene import Scene
from fixtures.streams import roll_out_under_load
from fixtures.workloads import Workloads

# The kubelet retries a failed prepare after 60 to 90 s; noise of a busy machine is far below that.
ALLOWANCE = 20.0
# The kubelet withdraws the slices of a lost driver after 30 s.
WITHDRAWAL = 35.0


@check(
    "upgrade.seamless.new-pods-start",
    level="extended",
    source="GP-3a",
    hint="maxSurge 1, maxUnavailable 0, pod-UID socket names, Ready only once the kubelet has registered the new pod",
    features=("rolling-update",),
    disruptive=True,
)
def test_new_pods_start(driver: Driver, workloads: Workloads) -> None:
    """Pods created all through the rollout start with no failed prepare, about as fast as before."""
    starts = roll_out_under_load(driver, workloads)
    failures = workloads.failed_prepares()
    slowest = max((start.took for start in starts.before), default=0.0)
    slow = [s for s in starts.since if s.took > slowest + ALLOWANCE and s.pod not in failures.others]
    expect(
        not failures.by_driver and not slow,
        f"each of {len(starts.since)} pods Running within {slowest + ALLOWANCE:.1f} s, no failed prepare",
        "; ".join([*(f"{s.pod} after {s.took:.1f} s" for s in slow), *failures.by_driver.values()])[:900],
        f"before the rollout the slowest of {len(starts.before)} pods took {slowest:.1f} s; {failures.context}",
    )


@check(
    "upgrade.seamless.slices-continuous",
    level="extended",
    source="GP-3",
    hint="never delete slices on stop, publish the same content in both versions, and keep each version's own sockets",
    features=("rolling-update",),
    disruptive=True,
)
def test_slices_continuous(scene: Scene, driver: Driver) -> None:
    """No slice is deleted or recreated by a rollout, and pools stay complete."""
    pools.await_complete(driver)
    roll_out(driver)
    pools.stay_complete(driver, WITHDRAWAL)
    touched = [seen for seen in scene.stretch() if seen.kind == "ResourceSlice" and seen.change == "DELETED"]
    expect(
        not touched,
        "no slice deleted during and after the rollout",
        ", ".join(f"{seen.name} deleted at +{seen.at - driver.disturbances[0].at:.1f} s" for seen in touched),
    )
