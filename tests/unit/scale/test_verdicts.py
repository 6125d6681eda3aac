"""What the measurements of a load mean: targets, bottleneck, diagnosis, cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from fixtures.scale import baseline, bottleneck, cost, diagnosis, thresholds
from fixtures.scale.loader import Phase
from fixtures.scale.prepared import Operation, Prepared
from fixtures.scale.reference import Reference
from fixtures.scale.series import Queue
from fixtures.scale.started import Started
from fixtures.scale.startup_latency import Stage
from fixtures.scale.usage import CONTROLLER_MANAGER, SCHEDULER, Usage
from tests.unit.scale.conftest import a_phase, flat


def test_a_healthy_load_misses_nothing(reference: Reference) -> None:
    assert baseline.misses(reference.claims) == []
    shown = {m.name: (m.value, m.threshold, m.baseline) for m in baseline.measurements(reference)}
    assert shown["filling: pod runs, p99"] == (0.1, thresholds.FILLING, 0.1)
    assert shown["filling: pod runs, p50"] == (0.1, None, 0.1)
    assert shown["churning: pod runs, p50"] == (0.1, 40.0, 0.1)
    table = baseline.table(reference)
    assert {len(row) for row in table.rows} == {len(table.columns)}
    assert ("filling, with claims", "whole", "0.10", "0.10", "0.10", "0.10", "100", "1.0") in table.rows


@pytest.mark.parametrize(
    ("filling", "says"),
    [
        (a_phase(stages={"whole": 20.1}), "p99 20.1 s"),
        (a_phase(unfinished=3), "3 of 100 pods did not run"),
    ],
)
def test_a_slow_filling_is_missed(filling: Phase, says: str, with_filling: Callable[[Phase], Reference]) -> None:
    missed = baseline.misses(with_filling(filling).claims)
    assert len(missed) == 1
    assert says in missed[0]


@pytest.mark.parametrize(
    ("plain", "limit"), [(0.1, 20), (7.0, 28), (21.0, 20)], ids=["an idle host", "a busy host", "too slow anyway"]
)
def test_a_busy_host_may_be_slower_with_claims_if_it_is_without(plain: float, limit: float) -> None:
    assert thresholds.relaxed(thresholds.FILLING, flat(plain)) == limit


def test_churning_has_a_limit_for_each_quantile(reference: Reference) -> None:
    slow = replace(reference, claims=replace(reference.claims, churning=a_phase("churning", stages={"whole": 61.0})))
    assert [text.split()[1] for text in baseline.misses(slow.claims)] == ["p50", "p90"]


def test_a_cluster_that_cannot_be_filled_is_not_churned(reference: Reference) -> None:
    unfilled = replace(reference, claims=replace(reference.claims, churning=None, filling=a_phase(unfinished=1)))
    assert "not begun" in baseline.misses(unfilled.claims)[-1]
    assert {len(row) for row in baseline.table(unfilled).rows} == {8}


@pytest.mark.parametrize(
    ("stage", "component"),
    [
        ("claim", CONTROLLER_MANAGER),
        ("allocation", SCHEDULER),
        ("reservation", SCHEDULER),
        ("binding", SCHEDULER),
    ],
)
@pytest.mark.parametrize(("waited", "remedy"), [(400.0, "--kube-api-qps"), (4.0, "CPU")])
def test_the_owner_of_the_slow_stage_is_named(stage: Stage, component: str, waited: float, remedy: str) -> None:
    slow = Usage(calls=400, cpu=1, memory=1, waited=waited, held=400)
    quick = Usage(calls=400, cpu=1, memory=1, waited=0, held=400)
    used = {CONTROLLER_MANAGER: quick, SCHEDULER: quick, component: slow}
    found = bottleneck.of_control_plane(Started((a_phase(stages={stage: 12.0}),), flat(0.1), used))
    assert found is not None
    assert (found.component, found.seconds) == (component, 12.0)
    assert remedy in found.remedy


def test_the_slowest_of_several_slow_stages_is_named(reference: Reference) -> None:
    phases = (a_phase(stages={"claim": 30.0, "binding": 18.0}),)
    found = bottleneck.of_control_plane(Started(phases, flat(0.1), reference.claims.usage))
    assert found is not None
    assert found.component == CONTROLLER_MANAGER


def test_a_component_whose_metrics_are_out_of_reach_is_named_all_the_same() -> None:
    found = bottleneck.of_control_plane(Started((a_phase(stages={"claim": 30.0}),), flat(0.1), None))
    assert found is not None
    assert (found.component, "out of reach" in found.why) == (CONTROLLER_MANAGER, True)
    assert "--kube-api-qps" in found.remedy


def test_all_parts_of_a_start_are_shown_with_whose_they_are(prepared: Prepared) -> None:
    table = bottleneck.table(prepared.started, prepared)
    assert ("kube-scheduler", "allocation, churning on real nodes", "0.10", "0.10", "p90 10") in table.rows
    assert ("driver", "PrepareResources, its share", "0.10", "0.10", "") in table.rows
    assert {len(row) for row in table.rows} == {len(table.columns)}


def test_simulated_kubelets_and_quick_stages_are_no_bottleneck(reference: Reference) -> None:
    phases = (a_phase(stages={"start": 30.0, "claim": 9.9}),)
    assert bottleneck.of_control_plane(Started(phases, flat(0.1), reference.claims.usage)) is None


@pytest.mark.parametrize(("of_driver", "component"), [(2.0, "the driver"), (0.1, "the kubelet")])
def test_a_slow_prepare_is_the_drivers_or_the_kubelets(prepared: Prepared, of_driver: float, component: str) -> None:
    assert bottleneck.of_nodes(prepared) is None
    slow = {**prepared.operations, "PrepareResources": Operation(flat(2.1), flat(of_driver))}
    found = bottleneck.of_nodes(replace(prepared, operations=slow))
    assert found is not None
    assert (found.component, found.stage) == (component, "PrepareResources (p50)")


def test_what_the_kubelet_did_for_other_pods_hides_no_slow_driver(prepared: Prepared) -> None:
    slow = {**prepared.operations, "PrepareResources": Operation(flat(0.05), flat(2.1))}
    found = bottleneck.of_nodes(replace(prepared, operations=slow))
    assert found is not None
    assert (found.component, found.seconds) == ("the driver", 2.1)


def queue(adds: float, depth: float, work: float) -> list[Queue]:
    """Nine seconds of a queue; each second as many entries are done as added, all of them within `work` seconds."""
    return [Queue(float(at), adds * at, depth, {work: adds * at, math.inf: adds * at}) for at in range(9)]


@pytest.mark.parametrize(
    ("adds", "depth", "work", "rule"),
    [
        (40, 2, 0.1, None),
        (40, 2, 20.0, diagnosis.FALLS_BEHIND),
        (12, 90, 20.0, diagnosis.FALLS_BEHIND),
        (8, 90, 0.1, diagnosis.FALLS_BEHIND),
        (40, 90, 0.1, diagnosis.LACKS_CONCURRENCY),
    ],
)
def test_each_diagnosis_where_it_is_true(adds: float, depth: float, work: float, rule: str | None) -> None:
    found = diagnosis.diagnose(diagnosis.signs(queue(adds, depth, work)), rate=10)
    assert (found.rule if found else None) == rule


def rush(deep_for: int) -> list[Queue]:
    """Half a minute with pods, some seconds in which too many come, half a minute without new ones."""
    looks, adds, depth, work = list[Queue](), 0.0, 0.0, {0.1: 0.0, 1.0: 0.0, math.inf: 0.0}
    for at in range(60 + deep_for):
        rushing = 30 <= at < 30 + deep_for
        adds += 100.0 if rushing else 30.0 if at < 30 else 0.0
        depth = depth + 50.0 if rushing else max(0.0, depth - 60.0)
        took = 1.0 if rushing else 0.1
        work = {bound: count + (50.0 if bound >= took else 0.0) for bound, count in work.items()}
        looks.append(Queue(float(at), adds, depth, work))
    return looks


def test_it_is_the_time_in_which_the_queue_grows_that_tells() -> None:
    signs = diagnosis.signs(rush(15))
    assert (signs.adds, signs.depth) == (100.0, 400.0)
    found = diagnosis.diagnose(signs, rate=60)
    assert found is not None
    assert found.rule == diagnosis.LACKS_CONCURRENCY


def test_a_hiccup_is_no_diagnosis() -> None:
    assert diagnosis.diagnose(diagnosis.signs(rush(4)), rate=60) is None


def test_a_queue_in_which_nothing_happens_has_no_diagnosis() -> None:
    signs = diagnosis.signs([Queue(float(at), 7.0, 0.0, {}) for at in range(5)])
    assert diagnosis.diagnose(signs, rate=10) is None
    assert diagnosis.signs([]) == signs


def test_the_cost_is_what_claims_add(reference: Reference) -> None:
    assert cost.added_calls(reference) == pytest.approx(6.0)
    shown = {m.name: m for m in cost.measurements(reference)}
    assert shown["API calls that a claim adds per pod"].threshold == thresholds.CALLS
    assert shown[f"{SCHEDULER}: API calls per pod"].baseline == 2.0
    table = cost.table(reference)
    assert (SCHEDULER, "API calls per pod", "2.0", "5.0", "+3.0") in table.rows
