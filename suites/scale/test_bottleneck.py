"""Which part of a pod's start is slow, and what it takes on real nodes."""

from __future__ import annotations

from collections.abc import Callable

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.scale import bottleneck
from fixtures.scale.prepared import Prepared
from fixtures.scale.started import Started
from reports.model import Measurement


@check(
    "scale.bottleneck.named",
    level="extended",
    source="GP-7a",
    hint="do what the named component needs; scale.tuning.sweep recommends client limits",
    topology="scale",
)
def test_bottleneck(check_run: CheckRun, prepared: Prepared, started: Callable[[], Started]) -> None:
    """No stage of a pod's start with a claim is too slow; one that is would be named, with its component and cause."""
    slow = bottleneck.of_nodes(prepared)
    if slow is None:
        starts = started()
        check_run.tables.append(bottleneck.table(starts, prepared))
        slow = bottleneck.of_control_plane(starts)
    expect(slow is None, "claims, scheduling and prepare all keep up", slow)


@check(
    "scale.prepare.latency",
    level="extended",
    source="GP-8d",
    hint="see the driver's log for what it waits for, and dra_grpc_operations_duration_seconds for its share",
    topology="scale",
)
def test_prepare(check_run: CheckRun, prepared: Prepared) -> None:
    """Kubelet and driver prepare and unprepare devices quickly while pods come and go on real nodes."""
    check_run.tables.append(prepared.cost)
    problems = []
    for name, operation in prepared.operations.items():
        for whose, found in (("kubelet", operation.whole), ("driver", operation.driver)):
            check_run.measurements += [
                Measurement(name=f"{name}, {whose}: {quantile}", value=round(getattr(found, quantile), 3), unit="s")
                for quantile in ("p50", "p90", "p99")
            ]
        if slow := bottleneck.too_slow(operation):
            problems.append(f"{name}: {slow} ({operation.driver.p50:.2f} s of it in the driver at p50)")
    expect(not problems, "devices are prepared and unprepared within the limits", "; ".join(problems))
