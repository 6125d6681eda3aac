"""Other flags for a component of the control plane, and its own again."""

from __future__ import annotations

import base64
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.check.outcomes import CheckFailed
from fixtures.cluster import control_plane
from fixtures.kube.informer import Scope

MANIFEST = "spec:\n  containers:\n  - command:\n    - kube-scheduler\n    - --bind-address=0.0.0.0\n"


class Node:
    """A control-plane node on which a component starts anew whenever its manifest changes."""

    def __init__(self) -> None:
        self.manifest = MANIFEST
        self.starts = 1.0
        self.dead = False
        self.deleted: list[str] = []

    def run(self, script: str) -> str:
        if script.startswith("cat "):
            return self.manifest
        self.manifest = base64.b64decode(script.split()[1]).decode()
        self.starts += 0 if self.dead else 1
        return ""

    @property
    def node(self) -> str:
        return "cp"

    def find(self, kind: str, *_: str) -> dict[str, Any]:
        if kind == "Lease":
            return {"spec": {"holderIdentity": f"process-{self.starts:.0f}"}}
        ready = {"type": "Ready", "status": "True"}
        annotations = {"kubernetes.io/config.hash": f"manifest-{self.starts:.0f}"}
        return {"metadata": {"name": "p", "annotations": annotations}, "status": {"conditions": [ready]}}

    def delete(self, *words: str) -> None:
        self.deleted.append("/".join(words))


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node()

    def wait_for(_kube: object, scope: Scope, until: Callable[[list[Any]], bool], *, what: str, **_: object) -> None:
        assert not until([])
        if not until([made.find(scope.kind)]):
            raise CheckFailed(what, "it does not")

    monkeypatch.setattr(control_plane, "shells_on", lambda nodes, *_: {nodes[0]: made})
    monkeypatch.setattr(control_plane, "wait_for", wait_for)
    return made


HANDLE: Any = SimpleNamespace(nodes=[SimpleNamespace(name="cp", role="control-plane")])


def test_a_component_has_other_flags_for_a_while(node: Node) -> None:
    kube: Any = node
    with control_plane.tuned(kube, HANDLE, {"kube-scheduler": {"kube-api-qps": "2"}}):
        assert "- --kube-api-qps=2\n" in node.manifest
        assert node.deleted == ["Lease/kube-scheduler/kube-system"]
    assert node.manifest == MANIFEST
    assert node.starts == 3


def test_a_component_is_not_started_anew_for_nothing(node: Node) -> None:
    kube: Any = node
    with control_plane.tuning(kube, HANDLE) as tune:
        tune("kube-scheduler", {"bind-address": "0.0.0.0"})
    assert node.starts == 1


def test_a_component_that_does_not_come_back_is_told_of(node: Node) -> None:
    kube: Any = node
    node.dead = True
    with (
        pytest.raises(CheckFailed, match="the new kube-scheduler runs"),
        control_plane.tuned(kube, HANDLE, {"kube-scheduler": {"kube-api-qps": "2"}}),
    ):
        raise AssertionError("it runs")
