"""What a run left behind is found by its label alone, and ends in good order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import RUN_LABEL
from fixtures.cluster.existing import leftovers
from fixtures.cluster.existing.leftovers import remove_leftovers
from fixtures.cluster.existing.run_lease import NAMESPACE
from fixtures.cluster.nodes.quiet import TAKEN_LABEL
from fixtures.kube.api import Refused

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]


def item(kind: str, name: str, namespace: str | None = None, run: str | None = "r1", **metadata: Any) -> Object:
    labels = {RUN_LABEL: run} if run else {}
    place = {"namespace": namespace} if namespace else {}
    return {"kind": kind, "metadata": {"name": name, "labels": labels, **place, **metadata}}


def test_only_what_has_the_runs_label_is_deleted(memory: Memory) -> None:
    theirs = [
        item("Namespace", "web", run=None),
        item("DeviceClass", "gpu", run=None),
        item("Pod", "db", "web", run=None),
        item("ResourceSlice", "of-another-run", run="r2"),
        item("Namespace", NAMESPACE),
        item("Lease", "dra-conformance", NAMESPACE),
    ]
    ours = [
        item("DeviceClass", "d"),
        item("RoleBinding", "b", "web"),
        item("ResourceSlice", "s"),
        item("Namespace", "n"),
    ]
    for each in (*theirs, *ours):
        memory.put(each)
    assert remove_leftovers(memory, "r1") == []
    assert sorted(name for _, _, name in memory.objects) == sorted(each["metadata"]["name"] for each in theirs)


def test_workload_ends_before_its_driver(memory: Memory) -> None:
    owned: Any = {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}
    for each in (item("DaemonSet", "driver", "n"), item("Pod", "driver-x", "n", **owned), item("Pod", "work", "n")):
        memory.put(each)
    memory.reacts = lambda: memory.objects.pop(("Pod", "n", "driver-x"), None) if memory.done[-1][7] == "D" else None
    remove_leftovers(memory, "r1")
    assert memory.done == ["delete Pod/work in 1 s", "delete DaemonSet/driver"]


def test_workload_that_does_not_end_is_deleted_by_force(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_END_LIMIT", 1e-9)
    memory.put(item("Pod", "stuck", "n"))
    monkeypatch.setattr(memory, "delete", lambda *words, grace=None: memory.done.append(f"{words} {grace}"))
    assert remove_leftovers(memory, "r1") == ["Pod n/stuck"]
    assert memory.done == ["('Pod', 'stuck', 'n') 1", "('Pod', 'stuck', 'n') 0"]


def test_what_stays_is_told(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_GONE_LIMIT", 1e-9)
    memory.put(item("Namespace", "stuck"))
    memory.put(item("ClusterRole", "kept"))
    monkeypatch.setattr(memory, "delete", lambda *_, **__: None)
    assert remove_leftovers(memory, "r1") == ["Namespace stuck", "ClusterRole kept"]


def test_nodes_are_nobodys_any_more(memory: Memory) -> None:
    memory.put({"kind": "Node", "metadata": {"name": "a", "labels": {TAKEN_LABEL: "1a2b3c", "mine": "x"}}})
    memory.put({"kind": "Node", "metadata": {"name": "b", "labels": {}}})
    remove_leftovers(memory, "r1")
    assert memory.get("Node", "a")["metadata"]["labels"] == {"mine": "x"}
    assert memory.done == ["patch Node/a"]


def test_what_may_not_be_listed_was_not_made_by_us(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = memory.list

    def refusing(kind: str, *words: Any, **more: Any) -> list[Object]:
        if kind == "ClusterRole":
            refused: Refused = memory.problem(403)  # type: ignore[assignment]
            raise refused
        return listed(kind, *words, **more)

    monkeypatch.setattr(memory, "list", refusing)
    memory.put(item("Namespace", "n"))
    assert remove_leftovers(memory, "r1") == []
