"""What a persona is refused and what it is granted, by live requests to a scripted API server."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import tenacity
from kubernetes.dynamic import exceptions

from drivers.install import RUN_LABEL
from fixtures import personas
from fixtures.kube import Gone, Kube, Refused

Object = dict[str, Any]
ANSWERS: dict[int, type[exceptions.DynamicApiError]] = {
    403: Refused,
    404: Gone,
    405: exceptions.MethodNotAllowedError,
    422: exceptions.UnprocessibleEntityError,
    500: exceptions.InternalServerError,
}


def problem(status: int) -> exceptions.DynamicApiError:
    facts = SimpleNamespace(status=status, reason="", body="", headers={})
    error: exceptions.DynamicApiError = ANSWERS[status](facts)
    return error


class Authorizer(Kube):
    """Answers each raw request with a status, 200 unless told otherwise; keeps what was asked."""

    def __init__(self, statuses: dict[str, int] | None = None, default: int = 200) -> None:
        self.statuses, self.default = statuses or {}, default
        self.asked: list[tuple[str, str, Object]] = []

    def raw(self, method: str, path: str, **parameters: Any) -> str:
        self.asked.append((method, path, parameters))
        status = self.statuses.get(f"{path.split('/')[3]} {method}", self.default)
        if status != 200:
            raise problem(status)
        return "{}"


class Admin(Kube):
    """Serves two versions of resource.k8s.io; the older one has no DeviceClasses."""

    def __init__(self) -> None:
        self.created: list[Object] = []
        self.posted: list[str] = []

    def raw(self, method: str, path: str, **_: Any) -> str:
        assert method == "get"
        both = ["v1", "v1beta2"]
        if path == "/apis/resource.k8s.io":
            return json.dumps({"versions": [{"version": version} for version in both]})
        names = ["resourceslices"] if path.endswith("v1beta2") else ["resourceslices", "deviceclasses"]
        return json.dumps({"resources": [{"name": name} for name in names]})

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        assert not dry_run
        self.created.append(item)
        return item

    def post(self, path: str, body: Object) -> Object:
        self.posted.append(f"{path} {body['kind']}")
        return {"status": {"token": "abc"}}


def test_a_resource_is_tried_in_every_version_that_serves_it() -> None:
    assert personas.served_versions(Admin(), "resourceslices") == ["v1", "v1beta2"]
    assert personas.served_versions(Admin(), "deviceclasses") == ["v1"]


def test_a_persona_that_is_refused_everything_is_granted_nothing() -> None:
    persona = Authorizer(default=403)
    assert personas.granted_writes(Admin(), persona, "resourceslices") == []
    assert [f"{path.split('/')[3]} {method}" for method, path, _ in persona.asked] == [
        f"{version} {verb}" for version in ("v1", "v1beta2") for verb in ("post", "put", "patch", "delete")
    ]


def test_every_attempt_is_a_dry_run_on_a_name_that_does_not_exist() -> None:
    persona = Authorizer(default=403)
    personas.granted_writes(Admin(), persona, "deviceclasses")
    for method, path, parameters in persona.asked:
        assert parameters["dry_run"] == "All"
        body = parameters["body"]
        assert "nonexistent" in path if method != "post" else "nonexistent" in body["metadata"]["name"]


@pytest.mark.parametrize("status", [200, 404, 422, 405])
def test_any_answer_behind_authorization_means_granted(status: int) -> None:
    persona = Authorizer({"v1beta2 patch": status}, default=403)
    assert personas.granted_writes(Admin(), persona, "resourceslices") == ["v1beta2 patch"]


def test_a_server_that_breaks_says_nothing_about_rights() -> None:
    with pytest.raises(exceptions.InternalServerError):
        personas.granted_writes(Admin(), Authorizer({"v1 put": 500}, default=403), "resourceslices")


class Tenant(Kube):
    """A persona whose verbs are refused by `VERB KIND`; the others work on what it has."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.has: set[tuple[str, str | None]] = set()
        self.done: list[str] = []

    def _try(self, verb: str, kind: str, name: str | None, *, needs: bool = True) -> Object:
        if f"{verb} {kind}" in self.refused:
            raise problem(403)
        if needs and (kind, name) not in self.has:
            raise problem(404)
        self.done.append(f"{verb} {kind}")
        return {}

    def create(self, item: Object, **_: Any) -> Object:
        self._try("create", item["kind"], None, needs=False)
        self.has.add((item["kind"], item["metadata"]["name"]))
        return item

    def get(self, kind: str, name: str, *_: Any) -> Object:
        return self._try("get", kind, name)

    def list(self, kind: str, *_: Any, **__: Any) -> list[Object]:
        return [self._try("list", kind, None, needs=False)]

    def patch(self, kind: str, name: str, *_: Any, **__: Any) -> Object:
        return self._try("patch", kind, name)

    def delete(self, kind: str, name: str, *_: Any, **__: Any) -> None:
        self._try("delete", kind, name, needs=False)
        self.has.discard((kind, name))


def test_an_operator_with_all_rights_is_refused_nothing_and_leaves_nothing() -> None:
    persona = Tenant()
    assert personas.refused_management(persona, "ns") == []
    assert len(persona.done) == 10
    assert persona.has == set()


KINDS = ("ResourceClaim", "ResourceClaimTemplate")


@pytest.mark.parametrize("verb", ["create", "get", "list", "patch", "delete"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_refused_step_is_named_and_nothing_that_follows_from_it(verb: str, kind: str) -> None:
    assert personas.refused_management(Tenant(f"{verb} {kind}"), "ns") == [f"{verb} {kind}"]


def test_every_step_is_tried_though_nothing_could_be_created() -> None:
    refused = {f"{verb} {kind}" for verb in ("create", "get", "patch", "delete") for kind in KINDS}
    assert {*personas.refused_management(Tenant(*refused), "ns")} == refused


def test_an_operator_has_the_clusters_own_role_edit_in_one_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    admin, persona, tokens, tries = Admin(), Tenant(), [], iter([True, True, False])

    def as_token(_self: Kube, token: str) -> Kube:
        tokens.append(token)
        return persona

    def listing(_self: Kube, _kind: str, _namespace: str) -> list[Object]:
        if next(tries):
            raise problem(403)
        return []

    monkeypatch.setattr(Admin, "as_token", as_token)
    monkeypatch.setattr(Tenant, "list", listing)
    monkeypatch.setattr(personas._until_bound.retry, "wait", tenacity.wait_none())
    assert personas.operator(admin, "ns", "run-1") is persona
    assert tokens == ["abc"]
    assert next(tries, None) is None, "the binding is waited for"
    account, binding = admin.created
    assert (account["kind"], binding["kind"]) == ("ServiceAccount", "RoleBinding")
    assert binding["roleRef"]["name"] == "edit"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "operator", "namespace": "ns"}]
    for item in admin.created:
        assert item["metadata"]["namespace"] == "ns"
        assert item["metadata"]["labels"] == {RUN_LABEL: "run-1"}
    assert admin.posted == ["/api/v1/namespaces/ns/serviceaccounts/operator/token TokenRequest"]
