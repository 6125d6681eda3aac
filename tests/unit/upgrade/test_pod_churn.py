"""Pods created under load and at once: which, when, and how each counts; on nodes that do what the test wants."""

from __future__ import annotations

import copy
import itertools
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts
from fixtures.upgrade import pod_churn
from fixtures.upgrade.pod_churn import AT_ONCE, CALM, Start, Starts, roll_out_under_churn, start_on_each_node
from fixtures.workload import workloads as pods_of
from fixtures.workload.workloads import Workloads

Object = dict[str, Any]
LONG = 20.0
NODES = ["node-1", "node-2"]


class Cluster(Kube):
    """Runs each pod at once, except on `stuck` nodes; creates the next one when the former were seen running.

    Pods that stay, to keep a claim prepared, always run.
    """

    def __init__(self) -> None:
        self.later = 0.0
        self.created: dict[str, list[str]] = {"node-1": [], "node-2": []}
        self.claims: dict[str, Object] = {}
        self.deleted: list[str] = []
        self.stuck: set[str] = set()
        self.broken = False
        self.failures: list[tuple[str, str]] = []
        self._changes: list[tuple[str, Object]] = []
        self._pods: dict[str, Object] = {}
        self._watched = True
        self._changed = threading.Condition()

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        assert not dry_run
        if self.broken:
            raise RuntimeError("no more pods")
        if item["kind"] == "Pod":
            self.until(lambda: not self._watched or not any(self._passes(name) for name in self._pods))
            required = item["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            (node,), name = required["nodeSelectorTerms"][0]["matchFields"][0]["values"], item["metadata"]["name"]
            with self._changed:
                self._change("ADDED", {**item, "status": {}})
                if name.startswith("keeper"):
                    self._run(name)
                else:
                    self.created[node].append(name)
                    self.claims[name] = next(iter(item["spec"]["resourceClaims"]), {})
                    if node not in self.stuck:
                        self._run(name)
        return item

    def _passes(self, name: str) -> bool:
        """Whether a pod runs, and is to end when it was seen."""
        return bool(self._pods[name]["status"]) and name.startswith("pod-")

    def refuse(self, name: str, why: str) -> None:
        """The container runtime does not start a pod's container."""
        state = {"waiting": {"reason": "CreateContainerError", "message": why}}
        with self._changed:
            status = {"phase": "Pending", "containerStatuses": [{"name": "main", "state": state}]}
            self._change("MODIFIED", {**self._pods[name], "status": status})

    def waiting(self) -> list[str]:
        """Pods that do not run yet."""
        with self._changed:
            return [name for name, pod in self._pods.items() if pod["status"].get("phase") != "Running"]

    def free(self, node: str) -> None:
        """From now on pods run on a node."""
        with self._changed:
            self.stuck.remove(node)
            for name in self.created[node]:
                if name in self._pods:
                    self._run(name)

    def _run(self, name: str) -> None:
        status = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
        self._change("MODIFIED", {**self._pods[name], "status": status})

    def delete(self, kind: str, name: str, namespace: str | None = None, *, grace: int | None = None) -> None:
        assert (kind, namespace, grace) == ("Pod", "dra-1a2b3c", None)
        self.deleted.append(name)
        self._change("DELETED", self._pods[name])

    def _change(self, change: str, pod: Object) -> None:
        with self._changed:
            pod = copy.deepcopy(pod)
            name = pod["metadata"]["name"]
            pod["metadata"] |= {"uid": name, "resourceVersion": str(len(self._changes) + 1)}
            self._changes.append((change, pod))
            self._pods[name] = pod
            if change == "DELETED":
                del self._pods[name]
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, LONG)

    def listing(self, kind: str, *_: Any, **__: Any) -> tuple[list[Object], str]:
        if kind == "Event":
            return [{"involvedObject": {"name": pod}, "message": message} for pod, message in self.failures], ""
        with self._changed:
            return list(self._pods.values()), str(len(self._changes))

    def watch(self, kind: str, since: str, seconds: float, *_: Any, **__: Any) -> Generator[tuple[str, Object]]:
        assert kind == "Pod"
        try:
            for number in itertools.count(int(since)):
                with self._changed:
                    if not self._changed.wait_for(lambda n=number: len(self._changes) > n, seconds):  # type: ignore[misc]
                        return
                    change = self._changes[number]
                yield change
        finally:
            with self._changed:
                self._watched = False
                self._changed.notify_all()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + made.later)
    monkeypatch.setattr(pod_churn, "time", clock)
    monkeypatch.setattr(pods_of, "time", clock)
    monkeypatch.setattr(pod_churn, "PACE", 0.001)
    monkeypatch.setattr(pod_churn, "LOOK", 0.02)
    monkeypatch.setattr(pod_churn, "roll_out", lambda driver: driver.roll_out())
    return made


def workloads(cluster: Cluster, seconds: float = LONG) -> Workloads:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return Workloads(cluster, instance, Timeouts(1, {"rollout": seconds / 2, "pod_running": seconds / 2}))


def under_load(cluster: Cluster, roll_out: Callable[[], None], seconds: float = LONG) -> Starts:
    driver: Any = SimpleNamespace(nodes=NODES, roll_out=roll_out)
    return roll_out_under_churn(driver, workloads(cluster, seconds))


def test_pods_are_created_on_each_node_before_during_and_after(cluster: Cluster) -> None:
    counts: list[dict[str, int]] = []

    def count() -> None:
        counts.append({node: len(created) for node, created in cluster.created.items()})

    def roll_out() -> None:
        count()
        enough = len(cluster.created["node-2"]) + 4
        cluster.until(lambda: len(cluster.created["node-2"]) >= enough)
        count()

    under_load(cluster, roll_out)
    count()
    begun, rolled, ended = counts
    assert all(begun[node] >= CALM for node in NODES)
    assert all(rolled[node] >= begun[node] + 3 for node in NODES)
    assert all(ended[node] >= rolled[node] + CALM for node in NODES)
    for index, node in enumerate(NODES):
        assert cluster.created[node] == [f"pod-{index}-{number + 1}" for number in range(ended[node])]


def test_by_turns_a_pod_has_a_claim_of_its_own_one_that_is_kept_prepared_and_none(cluster: Cluster) -> None:
    starts = under_load(cluster, lambda: None)
    for name, claim in cluster.claims.items():
        _, index, number = name.split("-")
        kept = {"name": "device", "resourceClaimName": f"kept-{index}"}
        own = {"name": "device", "resourceClaimTemplateName": "single"}
        assert claim == [own, kept, {}][(int(number) - 1) % 3]
    said = {"own": "resourceClaimTemplateName", "prepared": "resourceClaimName"}
    for start in (*starts.before, *starts.since):
        assert said.get(start.claim) in {*cluster.claims[start.pod], None}
        assert (start.claim == "none") == (cluster.claims[start.pod] == {})


def test_the_slowest_of_each_kind_is_told(cluster: Cluster) -> None:  # noqa: ARG001 - the clock
    starts = Starts(
        before=[Start("pod-0-1", 1.0, "own"), Start("pod-0-2", 1.2, "prepared")],
        since=[Start("pod-0-4", 2.0, "own"), Start("pod-0-7", 3.0, "own"), Start("pod-0-6", 1.5, "none")],
        ends=[4.0, 2.5],
        refused=[],
    )
    assert str(starts) == (
        "slowest pod before the rollout 1.2 s of 2; since it began 3.0 s of 2 with a claim of their own, none with one "
        "that was prepared, 1.5 s of 1 without a claim; slowest end 4.0 s of 2"
    )
    assert starts.usual == 1.5
    assert [start.pod for start in starts.judged] == ["pod-0-4", "pod-0-7"]


def test_a_rollout_begins_once_pods_start_on_each_node(cluster: Cluster) -> None:
    cluster.stuck = {"node-2"}
    begun = threading.Event()

    def free() -> None:
        cluster.until(lambda: len(cluster.created["node-1"]) > 2 * CALM)
        assert not begun.is_set()
        cluster.free("node-2")

    with ThreadPoolExecutor(1) as background:
        freed = background.submit(free)
        starts = under_load(cluster, begun.set)
        freed.result()
    assert {f"pod-1-{number + 1}" for number in range(CALM)} <= {start.pod for start in starts.before}


def test_each_pod_counts_once_from_when_it_was_seen_running_and_then_ends(cluster: Cluster) -> None:
    starts = under_load(cluster, lambda: None)
    counted = [start.pod for start in (*starts.before, *starts.since)]
    created = [name for names in cluster.created.values() for name in names]
    last = [names[-1] for names in cluster.created.values()]
    assert len(counted) == len(set(counted))
    assert {*created} - {*last} <= {*counted} <= {*created}
    assert sorted(cluster.deleted) == sorted(counted)
    assert len(counted) - len(last) <= len(starts.ends) <= len(counted)
    assert starts.refused == []


def test_a_node_on_which_nothing_starts_gets_few_pods_and_each_counts_all_the_time_it_took(cluster: Cluster) -> None:
    def roll_out() -> None:
        cluster.stuck = {"node-2"}
        known = {node: len(created) for node, created in cluster.created.items()}
        cluster.until(lambda: len(cluster.created["node-1"]) > known["node-1"] + 2 * AT_ONCE)
        waiting = cluster.waiting()
        assert len(waiting) == AT_ONCE
        assert all(name.startswith("pod-1-") for name in waiting)
        cluster.later = 700
        cluster.free("node-2")
        late.update(waiting)

    late: set[str] = set()
    starts = under_load(cluster, roll_out, 6000)
    took = {start.pod: start.took for start in (*starts.before, *starts.since)}
    assert {name for name, seconds in took.items() if seconds >= 700 and name.startswith("pod-1-")} == late
    assert not late & {start.pod for start in starts.before}
    assert all(0 <= start.took < 700 for start in starts.before)


def test_a_pod_that_never_runs_fails_the_check(cluster: Cluster) -> None:
    cluster.stuck = {"node-2"}
    with pytest.raises(CheckFailed) as caught:
        under_load(cluster, lambda: None, 0.2)
    assert caught.value.expected.startswith("all pods created during the rollout Running")
    assert "pod-1-1" in caught.value.observed


def test_nothing_more_is_waited_for_once_the_driver_failed_to_prepare_a_pod(cluster: Cluster) -> None:
    def roll_out() -> None:
        cluster.stuck = {"node-2"}
        cluster.until(lambda: len(cluster.waiting()) == AT_ONCE)
        cluster.failures = [("pod-1-9", "Failed to prepare dynamic resources: NodePrepareResources failed: no")]

    starts = under_load(cluster, roll_out, 600)
    assert len(cluster.waiting()) >= AT_ONCE
    assert not {*cluster.waiting()} & {start.pod for start in (*starts.before, *starts.since)}


def test_nothing_more_is_waited_for_once_a_container_cannot_be_created(cluster: Cluster) -> None:
    def roll_out() -> None:
        cluster.stuck = {"node-2"}
        cluster.until(lambda: len(cluster.waiting()) == AT_ONCE)
        cluster.refuse(cluster.waiting()[0], "unresolvable CDI devices")

    starts = under_load(cluster, roll_out, 600)
    assert [text.partition(": ")[2] for text in starts.refused] == ["unresolvable CDI devices"]


def test_a_claim_that_the_kubelet_could_not_read_is_no_reason_to_give_up(cluster: Cluster) -> None:
    cluster.failures = [("pod-1-1", "prepare dynamic resources: fetch ResourceClaim ns/c: forbidden")]
    cluster.stuck = {"node-2"}
    with pytest.raises(CheckFailed):
        under_load(cluster, lambda: None, 0.2)


def test_a_rollout_that_does_not_complete_fails_the_check_at_once(cluster: Cluster) -> None:
    def roll_out() -> None:
        cluster.stuck = {"node-1", "node-2"}
        raise CheckFailed("the rollout completes", "it does not")

    with pytest.raises(CheckFailed, match="it does not"):
        under_load(cluster, roll_out, 600)


def test_a_load_that_breaks_ends_at_once(cluster: Cluster) -> None:
    def roll_out() -> None:
        cluster.stuck = {"node-1", "node-2"}
        cluster.broken = True

    with pytest.raises(RuntimeError, match="no more pods"):
        under_load(cluster, roll_out, 600)


def on_each_node(cluster: Cluster, seconds: float = LONG) -> float:
    driver: Any = SimpleNamespace(nodes=NODES)
    return start_on_each_node(driver, workloads(cluster, seconds), "one")


def test_one_pod_is_started_on_each_node_and_the_slowest_counts(cluster: Cluster) -> None:
    cluster.stuck = {"node-2"}

    def free() -> None:
        cluster.until(lambda: bool(cluster.created["node-2"]))
        cluster.later = 50
        cluster.free("node-2")

    with ThreadPoolExecutor(1) as background:
        freed = background.submit(free)
        assert on_each_node(cluster) >= 50
        freed.result()
    assert cluster.created == {"node-1": ["one-0"], "node-2": ["one-1"]}


def test_a_single_pod_that_was_not_prepared_fails_the_check_with_the_driver_s_words(cluster: Cluster) -> None:
    cluster.stuck = {"node-2"}
    cluster.failures = [("one-1", "NodePrepareResources: no")]
    with pytest.raises(CheckFailed) as caught:
        on_each_node(cluster, 600)
    assert (caught.value.expected, caught.value.observed) == ("one-0, one-1 Running", "NodePrepareResources: no")
