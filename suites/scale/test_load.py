"""Loads of other shapes: all devices at once, claims that nobody can satisfy, other client limits."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.scale import sweep, thresholds
from fixtures.scale.loads import Loads
from reports.model import Measurement


@check(
    "scale.parallel.no-double-allocation",
    level="extended",
    source="GP-7",
    hint="look for whoever else writes the status of claims: admission that changes it, controllers; if nobody "
    "does, report it to Kubernetes with the record",
    capabilities=("simulated-nodes",),
    topology="scale",
)
def test_no_double_allocation(check_run: CheckRun, loads: Loads) -> None:
    """When all devices are claimed at once, wave after wave, no device is in two claims and no claim is lost."""
    waves = loads.waves()
    check_run.measurements.append(Measurement(name="allocations in waves", value=waves.allocations, unit=""))
    expect(not waves.doubles, "no device in two claims at once", "; ".join(waves.doubles[:5]))
    expect(not waves.lost, "every claim is allocated, and gone after its pod", "; ".join(waves.lost))


@check(
    "scale.noisy-neighbour.plain-pods",
    level="extended",
    source="GP-7",
    hint="look at scheduler_pending_pods and the scheduler's client limits (--kube-api-qps, --kube-api-burst)",
    capabilities=("simulated-nodes",),
    topology="scale",
)
def test_plain_pods(check_run: CheckRun, loads: Loads) -> None:
    """Plain pods start as usual beside pods whose claims nobody can satisfy."""
    plain = loads.beside_impossible_claims()
    check_run.measurements.append(
        Measurement(
            name="plain pod runs beside unsatisfiable claims, p99",
            value=round(plain.whole.p99, 3),
            unit="s",
            threshold=thresholds.PLAIN,
        )
    )
    expect(
        not plain.unfinished and plain.whole.p99 <= thresholds.PLAIN,
        f"99 % of plain pods run within {thresholds.PLAIN:g} s",
        f"{plain.whole}; {plain.unfinished} never ran",
    )


@check(
    "scale.tuning.sweep",
    level="extended",
    source="GP-7b",
    hint="no client limit helps: look at scale.bottleneck.named for what else is slow",
    capabilities=("simulated-nodes", "control-plane-config"),
    disturbs="driver",
    topology="scale",
)
def test_sweep(check_run: CheckRun, loads: Loads) -> None:
    """Client limits of controller manager and scheduler are found that meet the targets, alone and both at once."""
    swept = loads.sweep()
    check_run.tables += [sweep.table(swept), sweep.confirming(swept)]
    check_run.plot = sweep.plot(swept.trials)
    for trial in swept.recommended or ():
        check_run.note(f"recommended: {trial.component} {trial.flags}")
    expect(
        swept.recommended is not None,
        f"client limits with which 99 % of pods run within {thresholds.FILLING:g} s, of each component and of both",
        swept.shortcomings,
    )
