"""Requests as RBAC sees them, and what their answers mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kubernetes.dynamic import exceptions

from fixtures.kube.api import Conflict, Repeated
from fixtures.rbac.personas.attempts import NOBODY, VERBS, Attempt, granted, refused

if TYPE_CHECKING:
    from tests.unit.rbac.personas.conftest import Stage

ONE = f"/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/{NOBODY}"
ACCOUNTS = "/api/v1/namespaces/ns/serviceaccounts"
ALL = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"


@pytest.mark.parametrize(
    ("verb", "line"),
    [
        ("get", f"get {ONE}"),
        ("list", f"get {ALL}"),
        ("watch", f"get {ALL}"),
        ("create", f"post {ALL}"),
        ("update", f"put {ONE}"),
        ("patch", f"patch {ONE}"),
        ("delete", f"delete {ONE}"),
        ("deletecollection", f"delete {ALL}"),
    ],
)
def test_each_verb_is_its_request(stage: Stage, verb: str, line: str) -> None:
    kube = stage.scripted()
    assert not Attempt(verb, "resourceclaims", namespace="ns").by(kube).granted
    assert kube.lines == [line]


@pytest.mark.parametrize(
    ("attempt", "path"),
    [
        (Attempt("patch", "resourceclaims/status", namespace="ns"), f"{ONE}/status"),
        (Attempt("create", "serviceaccounts/token", group="", namespace="ns"), f"{ACCOUNTS}/{NOBODY}/token"),
        (Attempt("patch", "namespaces", group="", name="ns"), "/api/v1/namespaces/ns"),
        (Attempt("get", "nodes/proxy", group=""), f"/api/v1/nodes/{NOBODY}/proxy"),
        (Attempt("create", "deviceclasses", "v1beta2"), "/apis/resource.k8s.io/v1beta2/deviceclasses"),
    ],
)  # fmt: skip
def test_paths_have_groups_versions_and_parts(attempt: Attempt, path: str) -> None:
    assert attempt.path == path


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("get", "list", "watch")])
def test_whatever_writes_is_a_dry_run_on_what_is_not_there(stage: Stage, verb: str) -> None:
    kube = stage.scripted()
    Attempt(verb, "resourceclaims", namespace="ns").by(kube)
    ((_, path, parameters),) = kube.asked
    assert parameters["dry_run"] == "All"
    selector = parameters.get("label_selector") or ""
    assert NOBODY in path or NOBODY in selector or parameters["body"]["metadata"]["name"] == NOBODY


def test_what_is_meant_is_sent_for_real(stage: Stage) -> None:
    kube = stage.scripted(default=200)
    assert Attempt("delete", "resourceclaims", namespace="ns", dry_run=False).by(kube).done
    assert kube.asked[0][2]["dry_run"] is None


@pytest.mark.parametrize("status", [200, 400, 404, 405, 409, 422])
def test_any_answer_behind_authorization_means_granted(stage: Stage, status: int) -> None:
    kube = stage.scripted(default=status)
    attempt = Attempt("patch", "deviceclasses")
    assert granted(kube, [attempt]) == ["v1 patch deviceclasses"]
    assert refused(kube, [attempt]) == []
    assert attempt.by(kube).done == (status == 200)


@pytest.mark.parametrize("status", [401, 500])
def test_a_server_that_breaks_or_knows_nobody_says_nothing_about_rights(stage: Stage, status: int) -> None:
    with pytest.raises(exceptions.DynamicApiError):
        Attempt("patch", "deviceclasses").by(stage.scripted(default=status))


def test_an_answer_tells_what_the_server_said(stage: Stage) -> None:
    kube = stage.scripted({"patch": (422, "templates come from the catalog")})
    assert str(Attempt("patch", "deviceclasses").by(kube)) == "HTTP 422 templates come from the catalog"
    assert str(Attempt("get", "deviceclasses").by(stage.scripted(default=200))) == "HTTP 200"


@pytest.mark.parametrize(
    ("repeated", "dry_run", "done"),
    [(False, False, False), (True, False, True), (True, True, False)],
    ids=["there before", "made, the answer was lost", "dry run makes nothing"],
)
def test_what_is_there_when_its_creation_is_repeated_was_made(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, repeated: bool, dry_run: bool, done: bool
) -> None:
    kube = stage.scripted({f"post {ALL}": (409, "already exists")})
    answer = type(kube).raw

    def raw(self: Any, method: str, path: str, **parameters: Any) -> str:
        try:
            return answer(self, method, path, **parameters)
        except Conflict as error:
            raise (Repeated(error) if repeated else error) from None  # type: ignore[no-untyped-call]

    monkeypatch.setattr(type(kube), "raw", raw)
    assert Attempt("create", "resourceclaims", namespace="ns", dry_run=dry_run).by(kube).done == done
