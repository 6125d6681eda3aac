"""A rollout under load: which pods are created, when, and how each counts; on nodes that do what the test wants."""

from __future__ import annotations

import copy
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.install import Instance
from drivers.manifest import load
from fixtures import streams
from fixtures import workloads as pods_of
from fixtures.kube import Kube, Timeouts
from fixtures.outcomes import CheckFailed
from fixtures.streams import AT_ONCE, CALM, Starts, roll_out_under_load
from fixtures.workloads import Workloads

Object = dict[str, Any]
LONG = 20.0
NODES = ["node-1", "node-2"]


class Cluster(Kube):
    """Runs each pod at once, except on `stuck` nodes; creates the next one when the former were seen running."""

    def __init__(self) -> None:
        self.later = 0.0
        self.created: dict[str, list[str]] = {"node-1": [], "node-2": []}
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
            self.until(lambda: not self._watched or not any(pod["status"] for pod in self._pods.values()))
            node, name = item["spec"]["nodeSelector"]["kubernetes.io/hostname"], item["metadata"]["name"]
            with self._changed:
                self.created[node].append(name)
                self._change("ADDED", {**item, "status": {}})
                if node not in self.stuck:
                    self._run(name)
        return item

    def waiting(self) -> list[str]:
        """Pods that do not run yet."""
        with self._changed:
            return [name for name, pod in self._pods.items() if not pod["status"]]

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

    def watch(self, kind: str, since: str, seconds: float, *_: Any, **__: Any) -> Iterator[tuple[str, Object]]:
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
    monkeypatch.setattr(rollouts, "time", clock)
    monkeypatch.setattr(pods_of, "time", clock)
    monkeypatch.setattr(rollouts, "PACE", 0.001)
    monkeypatch.setattr(rollouts, "LOOK", 0.02)
    return made


def under_load(cluster: Cluster, roll_out: Callable[[], None], seconds: float = LONG) -> Starts:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    driver: Any = SimpleNamespace(nodes=NODES, roll_out=roll_out)
    return roll_out_under_load(
        driver, Workloads(cluster, instance, Timeouts(1, {"rollout": seconds / 2, "pod_running": seconds / 2}))
    )


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
