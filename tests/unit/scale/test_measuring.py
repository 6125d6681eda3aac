"""Stages, quantiles, arrivals, holdings, series: from what was seen to numbers."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

from fixtures.kube.allocations import Device
from fixtures.scale.allocations import doubles
from fixtures.scale.arrivals import AllocationSpan, Arrivals
from fixtures.scale.generator import evenly
from fixtures.scale.quantiles import Quantiles, of_histogram, quantiles
from fixtures.scale.series import Look, Series, grown, histogram
from fixtures.scale.shared import once
from fixtures.scale.startup_latency import WITH_CLAIM, WITHOUT_CLAIM, PodStart, by_stage
from fixtures.scale.usage import usage_in

Object = dict[str, Any]


def test_quantiles_are_samples() -> None:
    assert quantiles(float(n) for n in range(1, 101)) == Quantiles(50, 90, 99, 100, 100)
    assert quantiles([3.0]) == Quantiles(3, 3, 3, 3, 1)
    assert quantiles([]) == Quantiles(0, 0, 0, 0, 0)


def test_quantiles_of_a_histogram_are_interpolated() -> None:
    found = of_histogram({1.0: 50.0, 3.0: 90.0, 5.0: 100.0, math.inf: 100.0})
    assert found == Quantiles(p50=1.0, p90=3.0, p99=4.8, max=5.0, count=100)
    assert of_histogram({1.0: 0.0, math.inf: 10.0}) == Quantiles(1.0, 1.0, 1.0, 1.0, 10)
    assert of_histogram({}) == Quantiles(0, 0, 0, 0, 0)


def test_stages_lie_between_moments() -> None:
    whole = PodStart(sent=0, claimed=1, allocated=3, reserved=3, bound=6, running=10)
    stages = by_stage([whole], WITH_CLAIM, last=99)
    assert {stage: found.p50 for stage, found in stages.items()} == {
        "claim": 1,
        "allocation": 2,
        "reservation": 0,
        "binding": 3,
        "start": 4,
        "whole": 10,
    }


def test_what_was_not_over_counts_with_the_time_until_then() -> None:
    stages = by_stage([PodStart(sent=0, claimed=2)], WITH_CLAIM, last=30)
    assert (stages["claim"].p50, stages["allocation"].p50, stages["whole"].p50) == (2, 28, 30)
    assert stages["binding"].count == 0


def test_a_plain_pod_has_fewer_stages() -> None:
    stages = by_stage([PodStart(sent=0, bound=1, running=3)], WITHOUT_CLAIM, last=9)
    assert {stage: found.p50 for stage, found in stages.items()} == {"binding": 1, "start": 2, "whole": 3}


def a_claim(pod: str, device: str = "", *, reserved: bool = False) -> Object:
    results = [{"driver": "d", "pool": "p", "device": device}]
    status = {"allocation": {"devices": {"results": results}}} if device else {}
    return {
        "metadata": {"name": f"{pod}-claim", "uid": pod, "ownerReferences": [{"kind": "Pod", "name": pod}]},
        "status": {**status, **({"reservedFor": [{"name": pod}]} if reserved else {})},
    }


def a_pod(name: str, phase: str = "Pending", node: str | None = None) -> Object:
    return {"metadata": {"name": name, "uid": name}, "spec": {"nodeName": node}, "status": {"phase": phase}}


def test_moments_are_the_first_of_their_kind() -> None:
    seen = Arrivals()
    for now, (kind, item) in enumerate(
        [
            ("Pod", a_pod("a")),
            ("ResourceClaim", a_claim("a")),
            ("ResourceClaim", a_claim("a", "x", reserved=True)),
            ("Pod", a_pod("a", node="n")),
            ("Pod", a_pod("a", "Running", "n")),
            ("Pod", a_pod("a", "Succeeded", "n")),
        ]
    ):
        seen.add(kind, "MODIFIED", item, float(now))
    assert seen.progress([("a", -1.0), ("b", 0.0)]) == [
        PodStart(sent=-1, claimed=1, allocated=2, reserved=2, bound=3, running=4),
        PodStart(sent=0),
    ]
    assert seen.over == {"a"}
    assert seen.until(lambda now: now.claims == {"a"}, 0)
    seen.add("Pod", "DELETED", a_pod("a", "Succeeded", "n"), 6.0)
    assert seen.all_spans() == [AllocationSpan("a-claim", (Device("d", "p", "x"),), 2.0)]
    seen.add("ResourceClaim", "DELETED", a_claim("a", "x"), 7.0)
    assert seen.all_spans() == [AllocationSpan("a-claim", (Device("d", "p", "x"),), 2.0, 7.0)]
    assert not seen.pods
    assert not seen.claims


def test_a_device_in_two_claims_at_once_is_a_double() -> None:
    device = (Device("d", "p", "x"),)
    first, after, beside = (
        AllocationSpan("a", device, 0, 5),
        AllocationSpan("b", device, 5, 9),
        AllocationSpan("c", device, 8),
    )
    assert doubles([after, first]) == []
    assert doubles([first, after, beside]) == ["d/p/x in b and c"]
    assert doubles([AllocationSpan("a", device, 0), AllocationSpan("b", (Device("d", "p", "y"),), 1)]) == []


def test_an_open_loop_has_its_moments_in_advance() -> None:
    assert [due.after for due in evenly([{}, {}, {}], rate=4)] == [0, 0.25, 0.5]


TEXT = """\
workqueue_adds_total{name="resource_claim"} 10
workqueue_depth{name="resource_claim",priority="0"} 2
workqueue_depth{name="resource_claim",priority="1"} 3
workqueue_work_duration_seconds_bucket{name="resource_claim",le="1"} 8
workqueue_work_duration_seconds_bucket{name="resource_claim",le="+Inf"} 10
rest_client_rate_limiter_duration_seconds_sum{host="h",verb="GET"} 1.5
process_cpu_seconds_total 7
"""


def test_the_queue_is_read_from_what_was_scraped() -> None:
    series = Series([Look(1.5, "kube-controller-manager", "x", TEXT), Look(2.5, "kube-scheduler", "x", "")])
    (queue,) = series.queue()
    assert (queue.at, queue.adds, queue.depth, queue.work) == (1.5, 10, 5, {1.0: 8, math.inf: 10})


def test_series_are_kept_with_their_time_and_origin(tmp_path: Path) -> None:
    Series([Look(1.5, "kube-controller-manager", "x", TEXT)]).write(tmp_path / "series.prom")
    lines = (tmp_path / "series.prom").read_text().splitlines()
    assert lines[0] == 'workqueue_adds_total{job="kube-controller-manager",instance="x",name="resource_claim"} 10 1500'
    assert lines[-1] == 'process_cpu_seconds_total{job="kube-controller-manager",instance="x"} 7 1500'


def test_what_a_histogram_took_in_between_two_looks() -> None:
    after = histogram(TEXT, "workqueue_work_duration_seconds", name="resource_claim")
    assert grown({1.0: 8.0, math.inf: 8.0}, after).count == 2
    assert grown({}, after).count == 10


def test_usage_is_added_up_over_series() -> None:
    text = 'rest_client_requests_total{code="200"} 3\nrest_client_requests_total{code="429"} 2\n' + TEXT
    used = usage_in(text)
    assert (used.calls, used.cpu, used.waited) == (5, 7, 1.5)
    assert used.since(used).calls == 0


def test_a_measurement_is_taken_once_in_a_run(tmp_path: Path) -> None:
    taken: list[str] = []

    def measure(run: str) -> Quantiles:
        taken.append(run)
        return quantiles([1.0])

    for run in ("one", "one", "two"):
        assert once(tmp_path, run, "some", Quantiles, partial(measure, run)) == Quantiles(1, 1, 1, 1, 1)
    assert taken == ["one", "two"]
