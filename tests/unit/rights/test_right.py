"""Which right a request needs, as text and as a rule of a role."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.kube import request_log
from fixtures.kube.api import Kube
from fixtures.rights.right import Right, given_by, needed_by
from fixtures.rights.role import cluster_role

DRA, RBAC = "resource.k8s.io", "rbac.authorization.k8s.io"


def line(method: str, path: str, *, watch: bool = False, apply: bool = False, **body: Any) -> dict[str, Any]:
    return {"method": method, "path": path, "watch": watch, "apply": apply, "body": body}


@pytest.mark.parametrize(
    ("request_line", "rights"),
    [
        (line("get", "/api/v1/nodes"), ["list nodes"]),
        (line("get", "/api/v1/nodes", watch=True), ["watch nodes"]),
        (line("get", "/api/v1/nodes/n"), ["get nodes"]),
        (line("get", "/api/v1/nodes/n/proxy/metrics"), ["get nodes/proxy"]),
        (line("get", "/api/v1/namespaces/ns/pods"), ["list pods"]),
        (line("get", "/api/v1/namespaces/ns/pods/p/log"), ["get pods/log"]),
        (line("get", "/api/v1/namespaces/ns/pods/p:8080/proxy/metrics"), ["get pods/proxy"]),
        (line("post", "/api/v1/namespaces"), ["create namespaces"]),
        (line("delete", "/api/v1/namespaces/ns"), ["delete namespaces"]),
        (line("put", "/api/v1/namespaces/ns/finalize"), ["update namespaces/finalize"]),
        (line("delete", "/api/v1/namespaces/ns/pods"), ["deletecollection pods"]),
        (line("post", "/api/v1/namespaces/ns/pods/p/eviction"), ["create pods/eviction"]),
        (line("post", "/api/v1/namespaces/ns/serviceaccounts/s/token"), ["create serviceaccounts/token"]),
        (line("patch", f"/apis/{DRA}/v1/resourceslices/s"), [f"patch resourceslices.{DRA}"]),
        (
            line("patch", f"/apis/{DRA}/v1beta1/namespaces/ns/resourceclaims/c/status"),
            [f"patch resourceclaims.{DRA}/status"],
        ),
        (
            line("patch", "/apis/apps/v1/namespaces/ns/daemonsets/d", apply=True),
            ["create daemonsets.apps", "patch daemonsets.apps"],
        ),
        (line("get", "/metrics"), ["get /metrics"]),
        (line("get", "/version"), []),
        (line("get", "/readyz"), []),
        (line("get", f"/apis/{DRA}"), []),
        (line("get", f"/apis/{DRA}/v1"), []),
        (line("get", "/api/v1"), []),
        (line("post", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"), []),
    ],
)
def test_a_request_needs_its_right_unless_everybody_has_it(request_line: dict[str, Any], rights: list[str]) -> None:
    assert sorted(map(str, needed_by(request_line, ()))) == rights


@pytest.mark.parametrize(
    "text",
    ["list nodes", f"get resourceclaims.{DRA}/status", f"bind clusterroles.{RBAC} edit", "get /metrics", "* *.*"],
)
def test_a_right_is_read_as_it_is_written(text: str) -> None:
    assert str(Right.parse(text)) == text


@pytest.mark.parametrize("text", ["list", "get nodes one two", ""])
def test_other_texts_are_no_rights(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any will do
        Right.parse(text)


def test_who_makes_a_role_must_have_what_it_gives_unless_it_is_a_drivers() -> None:
    rules = [{"apiGroups": [DRA], "resources": ["resourceclaims/status"], "verbs": ["get", "patch"]}]
    role: dict[str, Any] = {"kind": "ClusterRole", "name": "mine", "rules": rules}
    path = f"/apis/{RBAC}/v1/clusterroles"
    assert sorted(map(str, needed_by(line("post", path, **role), ()))) == [
        f"create clusterroles.{RBAC}",
        f"get resourceclaims.{DRA}/status",
        f"patch resourceclaims.{DRA}/status",
    ]
    applied = sorted(map(str, needed_by(line("patch", f"{path}/mine", apply=True, **role), ())))
    assert applied == [f"create clusterroles.{RBAC}", f"patch clusterroles.{RBAC}"]


def test_who_binds_a_role_that_was_there_needs_the_right_to_bind_it() -> None:
    path = f"/apis/{RBAC}/v1/namespaces/ns/rolebindings"
    body: dict[str, Any] = {"kind": "RoleBinding", "roleRef": {"kind": "ClusterRole", "name": "edit"}}
    binding = line("post", path, **body)
    assert sorted(map(str, needed_by(binding, ["mine"]))) == [
        f"bind clusterroles.{RBAC} edit",
        f"create rolebindings.{RBAC}",
    ]
    assert sorted(map(str, needed_by(binding, ["edit"]))) == [f"create rolebindings.{RBAC}"]


def test_rules_of_what_is_no_role_give_no_rights() -> None:
    asked = line("post", "/api/v1/namespaces/n/pods/d-1:8080/proxy/faults", planted="x", rules=[{"method": "Prepare"}])
    assert [str(right) for right in needed_by(asked, [])] == ["create pods/proxy"]


def test_a_role_gives_what_its_rules_say() -> None:
    rules = [
        {"apiGroups": ["", "apps"], "resources": ["a", "b/c"], "verbs": ["get"]},
        {"apiGroups": [DRA], "resources": ["d"], "resourceNames": ["n"], "verbs": ["update"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    assert sorted(map(str, given_by(rules))) == [
        *("get /metrics", "get a", "get a.apps", "get b.apps/c", "get b/c", f"update d.{DRA} n"),
    ]


def test_the_smallest_role_has_a_rule_for_each_set_of_verbs() -> None:
    texts = ("list pods", "get pods", "get nodes", "list nodes", "get pods/log", "get /metrics", "bind x.g edit")
    role = cluster_role("r", map(Right.parse, texts))
    assert role["metadata"] == {"name": "r"}
    assert sorted(role["rules"], key=str) == [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": ["g"], "resources": ["x"], "resourceNames": ["edit"], "verbs": ["bind"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    assert sorted(map(str, given_by(role["rules"]))) == sorted(texts)


def test_the_request_log_has_what_decides_about_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "journal"
    request_log.log("me", "get", "/version", {})
    monkeypatch.setenv(request_log.LOG_VARIABLE, str(file))
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "suites/x.py::test_y (call)")
    rules = [{"verbs": ["get"]}]
    body = {"kind": "Role", "metadata": {"name": "r", "labels": {}}, "rules": rules, "data": "large"}
    request_log.log("me", "patch", "/p", {"body": body, "content_type": "application/apply-patch+yaml"})
    request_log.log("me", "get", "/q", {"watch": True, "body": None})
    common = {"agent": "me", "test": "suites/x.py::test_y"}
    assert [json.loads(text) for text in file.read_text().splitlines()] == [
        {
            **common,
            "method": "patch",
            "path": "/p",
            "watch": False,
            "apply": True,
            "body": {"kind": "Role", "rules": rules, "name": "r"},
        },
        {**common, "method": "get", "path": "/q", "watch": True, "apply": False, "body": {}},
    ]


def test_only_the_runners_own_requests_are_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    noted: list[str] = []
    monkeypatch.setattr(request_log, "log", lambda _agent, _method, path, _parameters: noted.append(path))
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, user: {token: t}}]}"
    )
    kube = Kube.from_kubeconfig(kubeconfig, "me")
    sent: list[str] = []
    for one in (kube, persona := kube.as_token("other")):
        one._transport.request = lambda _method, path, **_: sent.append(path)
    kube._send("get", "/mine")
    persona._send("get", "/theirs")
    assert sent == ["/mine", "/theirs"]
    assert noted == ["/mine"]
