"""The generator's own lag, and what becomes of a measurement when it falls behind."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from drivers.install import RUN_LABEL
from fixtures.bench import Bench
from fixtures.check.outcomes import OtherOutcome
from fixtures.cluster import progress
from fixtures.scale.arrivals import Arrivals
from fixtures.scale.generator import Due, Pace, Sent, evenly, merged, send
from fixtures.scale.loader import MOST_LAG, Loader
from fixtures.scale.pods import Pods
from tests.unit.scale.conftest import flat

PODS = Pods("ns", "run", {}).make("p", 5, claims=True, lasts=1.5)


class Cluster:
    def __init__(self) -> None:
        self.created: list[str] = []
        self.deleted: list[tuple[str, str, str]] = []

    def create(self, pod: dict[str, Any]) -> None:
        self.created.append(pod["metadata"]["name"])

    def delete_all(self, kind: str, namespace: str, labels: str = "") -> None:
        self.deleted.append((kind, namespace, labels))


class Late:
    """A generator that is as late as it is told to be, and as fast as some rate at most."""

    def __init__(self, lag: float = 0.0, most: float = 1e9) -> None:
        self.lag, self.most = lag, most

    def create(self, plan: Sequence[Due]) -> tuple[list[Sent], Pace]:
        now = time.monotonic()
        rate = 1 / plan[1].after
        lag = self.lag if rate <= self.most else 9.0
        sent = [Sent(due.pod["metadata"]["name"], now, now, now) for due in plan]
        return sent, Pace(flat(lag), min(rate, self.most), 0.1)


def test_pods_are_created_when_they_are_due_and_not_before() -> None:
    cluster: Any = Cluster()
    start = time.monotonic()
    sent, _ = send(cluster, start, evenly(PODS, rate=50))
    assert [one.name for one in sent] == [f"p-{n}" for n in range(5)] == sorted(cluster.created)
    assert all(one.due <= one.asked <= one.answered for one in sent)
    assert sent[-1].due == pytest.approx(start + 0.08)


def test_shares_of_several_processes_are_one_load() -> None:
    shares = [([Sent("a", 10.0, 10.0, 11.0), Sent("c", 12.0, 12.0, 12.5)], 0.6), ([Sent("b", 11.0, 11.5, 14.0)], 1.4)]
    sent, pace = merged(10.0, shares)
    assert [one.name for one in sent] == ["a", "b", "c"]
    assert (pace.lag.max, pace.rate, pace.cpu) == (0.5, 1.0, 0.5)


def a_loader(lag: float, said: list[str] | None = None) -> Loader:
    late: Any = Late(lag)
    cluster: Any = Cluster()
    return Loader(cluster, "ns", "run", Arrivals(), late, said.append if said is not None else print)


def test_a_generator_that_fell_behind_tells_nothing_of_the_cluster() -> None:
    with pytest.raises(OtherOutcome, match="the load generator was late") as said:
        a_loader(MOST_LAG + 1).phase("filling", PODS, 10, 0)
    assert said.value.outcome == "inconclusive"
    assert a_loader(MOST_LAG + 1).wave(PODS, 10, 0).unfinished == 5, "as fast as it can is fast enough for a wave"


def test_a_phase_ends_by_its_own_limit() -> None:
    phase = a_loader(0).phase("filling", PODS, 10, 0)
    assert (phase.pods, phase.unfinished, phase.claims) == (5, 5, True)
    assert phase.title == "filling, with claims"
    assert phase.stages["whole"].count == 5
    assert phase.stages["binding"].count == 0


def test_long_phases_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "HEARTBEAT", 0.05)
    said: list[str] = []
    loader = a_loader(0, said)
    loader.seen.add("Pod", "ADDED", {"metadata": {"name": "p-0"}, "spec": {}, "status": {"phase": "Running"}}, 0.0)
    loader.phase("filling", PODS, 10, 0.2)
    loader.clear(0.2)
    assert said[:2] == ["filling, with claims: 5 pods, 10 per second", "filling, with claims: 1 of 5 pods ran (0s)"]
    result = next(line for line in said[2:] if "p50" in line)
    assert result.startswith("filling, with claims: 1 of 5 pods ran, p50/p90/p99/max ")
    assert said[-1] == "clearing 1 pods away: 1 pods and 0 claims left (0s)"


def test_what_is_left_at_the_end_is_counted() -> None:
    loader = a_loader(0)
    loader.seen.add("Pod", "ADDED", {"metadata": {"name": "p", "uid": "u"}, "spec": {}}, 0.0)
    assert loader.clear(0).pods == 1
    assert loader.clear(0).claims == 0


def test_only_what_is_of_the_load_is_deleted() -> None:
    loader, cluster = a_loader(0), Cluster()
    replace(loader, kube=cluster).clear(0)  # type: ignore[arg-type]
    (pod,) = Pods("ns", "run", {}).make("p", 1, claims=False)
    ((_, _, selector),) = cluster.deleted
    assert selector in {f"{key}={value}" for key, value in pod["metadata"]["labels"].items()}
    assert not selector.startswith(RUN_LABEL), "a driver has this label, too"


def test_the_highest_rate_is_the_last_one_that_is_sustained() -> None:
    late: Any = Late(most=50)
    cluster: Any = Cluster()
    assert Bench(cluster, "ns", late).highest(10) == pytest.approx(33.75)
    assert set(cluster.deleted) == {("Pod", "ns", "")}


def test_pods_with_claims_get_them_from_their_template() -> None:
    made = Pods("ns", "run", {"nodeSelector": {"a": "b"}}, "mine")
    template = made.template("class", "true")
    assert template["metadata"]["name"] == "mine"
    assert template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"]
    (pod,) = made.make("p", 1, claims=True, lasts=0.5)
    assert pod["spec"]["resourceClaims"] == [{"name": "device", "resourceClaimTemplateName": "mine"}]
    assert pod["metadata"]["annotations"] == {"dra-conformance/lasts": "0.5s"}
    assert pod["spec"]["nodeSelector"] == {"a": "b"}
    (plain,) = made.make("p", 1, claims=False)
    assert "resourceClaims" not in plain["spec"]
