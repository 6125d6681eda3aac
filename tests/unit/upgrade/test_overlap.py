"""What DaemonSets promise of an overlap, and what the kubelets saw of one."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.install import Instance, render
from drivers.loading import load
from fixtures.upgrade import overlap
from fixtures.upgrade.overlap import GATE, Meeting, Overlaps, overlap_problems, roll_out_step_by_step

Object = dict[str, Any]
Objects = list[Object]
Strings = list[str]
INSTANCE = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})


def daemon_sets(desired: int = 2) -> Objects:
    """Those of the fake driver; the second has nodes only if told to."""
    first, second = (item for item in render(INSTANCE) if item["kind"] == "DaemonSet")
    first["status"], second["status"] = {"desiredNumberScheduled": 2}, {"desiredNumberScheduled": desired - 2}
    return [first, second]


def problems(items: Objects) -> list[str]:
    driver: Any = SimpleNamespace(instance=INSTANCE, daemon_sets=lambda: items)
    return overlap_problems(driver)


def test_the_fake_driver_promises_an_overlap_where_kubelets_are_new() -> None:
    assert problems(daemon_sets()) == []


def test_a_daemon_set_counts_once_it_has_nodes() -> None:
    assert problems(daemon_sets(desired=3)) == ["driver-1a2b3c-old-kubelets has maxSurge 0 and maxUnavailable 1"]


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        ({"type": "OnDelete"}, ["driver-1a2b3c has the update strategy OnDelete"]),
        ({"type": "RollingUpdate"}, ["driver-1a2b3c has maxSurge 0 and maxUnavailable 1"]),
        (
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
            ["driver-1a2b3c has maxSurge 1 and maxUnavailable 1"],
        ),
        (
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "0%", "maxUnavailable": 0}},
            ["driver-1a2b3c has maxSurge 0% and maxUnavailable 0"],
        ),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%", "maxUnavailable": "0%"}}, []),
    ],
)
def test_the_new_version_comes_before_the_old_one_goes(strategy: Object, told: list[str]) -> None:
    items = daemon_sets()
    items[0]["spec"]["updateStrategy"] = strategy
    assert problems(items) == told


UID_FILE = {"items": [{"path": "uid", "fieldRef": {"fieldPath": "metadata.uid"}}]}


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        (None, ["container driver of driver-1a2b3c is not told its pod's UID"]),
        ({"downwardAPI": UID_FILE}, []),
        ({"projected": {"sources": [{"serviceAccountToken": {}}, {"downwardAPI": UID_FILE}]}}, []),
    ],
)
def test_the_pod_s_uid_comes_as_a_variable_or_a_file(volume: Object | None, told: list[str]) -> None:
    items = daemon_sets()
    pod = items[0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    container["env"] = [variable for variable in container["env"] if variable["name"] != "POD_UID"]
    if volume:
        pod["volumes"].append({"name": "about", **volume})
        container["volumeMounts"].append({"name": "about", "mountPath": "/about"})
    assert problems(items) == told


OLD, NEW = frozenset({"old"}), frozenset({"new"})


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (OLD | NEW, ""),
        (NEW, "the old version on n was not registered any more when the new one was Ready"),
        (OLD, "the new version on n was Ready before it was registered under a name of its own"),
        (frozenset(), "the new version on n was Ready before it was registered under a name of its own"),
    ],
)
def test_a_meeting_needs_both(now: frozenset[str], told: str) -> None:
    assert Meeting("n", OLD, now).problem == told


def test_nodes_without_their_driver_are_told_and_counted_together() -> None:
    lost = Overlaps([Meeting("a", OLD, OLD | NEW)], [frozenset({"a"}), frozenset({"a", "b"})])
    assert lost.problems == ["no driver was registered on a, b for a while"]
    assert str(lost) == (
        "both versions were registered on 1 of 1 nodes when the new one was Ready; "
        "nodes without their driver at the same time: 2"
    )
    assert Overlaps().problems == []


class Cluster:
    """A driver whose pods appear on two nodes, one after the other, each Ready when its gate is open."""

    home = "dra-1a2b3c"

    def __init__(self, *, withdraws_early: bool = False) -> None:
        self.timeouts = {"rollout": 5.0}
        self.kube: Any = self
        self.instance = INSTANCE
        self.nodes = ["node-1", "node-2"]
        self.withdraws_early = withdraws_early
        self.sockets = {node: [f"{node}-old"] for node in self.nodes}
        self.opened: list[str] = []
        self._pods = {f"old-{node}": _pod(f"old-{node}", node, "Ready", "ContainersReady") for node in self.nodes}
        self._versions = itertools.count(1)

    def daemon_sets(self) -> Objects:
        return [{"spec": {}}]

    def list(self, kind: str, namespace: str) -> Objects:
        assert (kind, namespace) == ("Pod", self.home)
        return [*self._pods.values()]

    def is_part(self, pod: Object) -> bool:
        return bool(pod)

    def registered(self, node: str) -> Strings:
        return self.sockets[node]

    def mark(self, what: str) -> None:
        assert what

    def await_rolled_out(self, what: str) -> None:
        assert what

    def change_to(self, target: Instance, overlay: Any) -> None:
        assert target.version == "2.0.0"
        for item in overlay(daemon_sets()):
            assert item["spec"]["template"]["spec"]["readinessGates"] == [{"conditionType": GATE}]

    def listing(self, *_: Any) -> tuple[Objects, str]:
        return [*self._pods.values()], "0"

    def watch(self, *_: Any) -> Generator[tuple[str, Object]]:
        for node in self.nodes:
            new, old = f"new-{node}", f"old-{node}"
            yield self._change("ADDED", _pod(new, node))
            self.sockets[node] = [f"{node}-new"] if self.withdraws_early else [f"{node}-old", f"{node}-new"]
            yield self._change("MODIFIED", _pod(new, node, "ContainersReady"))
            assert self.opened[-1].endswith(f"/pods/{new}/status")
            yield self._change("MODIFIED", _pod(new, node, "ContainersReady", "Ready"))
            self.sockets[node] = [f"{node}-new"]
            yield self._change("DELETED", self._pods[old])

    def raw(self, method: str, path: str, body: Object, content_type: str) -> None:
        assert (method, content_type) == ("patch", "application/strategic-merge-patch+json")
        assert body == {"status": {"conditions": [{"type": GATE, "status": "True"}]}}
        self.opened.append(path)

    def _change(self, change: str, pod: Object) -> tuple[str, Object]:
        pod = copy.deepcopy(pod)
        pod["metadata"]["resourceVersion"] = str(next(self._versions))
        self._pods[pod["metadata"]["name"]] = pod
        if change == "DELETED":
            del self._pods[pod["metadata"]["name"]]
        return change, pod


def _pod(name: str, node: str, *conditions: str) -> Object:
    status = {"conditions": [{"type": condition, "status": "True"} for condition in conditions]}
    return {"metadata": {"name": name, "uid": name}, "spec": {"nodeName": node}, "status": status}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "PACE", 0.001)


def test_each_new_version_is_held_until_the_registrations_were_looked_at() -> None:
    cluster: Any = Cluster()
    seen = roll_out_step_by_step(cluster)
    assert [meeting.node for meeting in seen.meetings] == cluster.nodes
    assert len(cluster.opened) == 2
    assert seen.problems == []


def test_an_old_version_that_lost_its_registration_is_noticed() -> None:
    cluster: Any = Cluster(withdraws_early=True)
    assert len(roll_out_step_by_step(cluster).problems) == 2
