"""What an audit reads, and what it says when it may not."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.check.outcomes import OtherOutcome
from fixtures.kube.api import Refused
from fixtures.rbac.audit.reading import read

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
PATHS = {
    "/apis/resource.k8s.io": {"versions": [{"version": "v1"}]},
    "/apis/resource.k8s.io/v1": {"resources": [{"name": "deviceclasses", "namespaced": False}]},
}


@pytest.fixture
def kube(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setattr(memory, "raw", lambda _method, path, **_: json.dumps(PATHS[path]), raising=False)
    return memory


def test_everything_is_read_once(kube: Memory) -> None:
    subjects = [{"kind": "Group", "name": "team"}]
    role = {"kind": "ClusterRole", "name": "r"}
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    kube.put({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules})
    kube.put({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": role, "subjects": subjects})
    kube.put({"kind": "RoleBinding", "metadata": {"name": "b", "namespace": "n"}, "roleRef": role})
    kube.put({"kind": "Namespace", "metadata": {"name": "n"}})
    cluster = read(kube)
    assert cluster.cluster_scoped == ("deviceclasses",)
    assert [namespace["metadata"]["name"] for namespace in cluster.namespaces] == ["n"]
    (grant,) = cluster.grants
    assert (str(grant.subject), grant.by) == ("Group team", "ClusterRoleBinding b (ClusterRole r)")


def test_who_may_not_read_says_so(kube: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> list[Object]:
        facts: Any = SimpleNamespace(status=403, reason="", body="rolebindings is forbidden", headers={})
        raise Refused(facts)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(kube, "list", refuse)
    with pytest.raises(OtherOutcome) as said:
        read(kube)
    assert said.value.outcome == "inconclusive"
    assert "rolebindings is forbidden" in said.value.reason
