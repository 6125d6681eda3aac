"""Who asks, and how it was had."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from kubernetes import client

from drivers.install import RUN_LABEL
from fixtures.check.outcomes import OtherOutcome
from fixtures.cluster.nodes.shell import DockerShell
from fixtures.kube.api import Kube
from fixtures.kube.identity import certified, impersonating
from fixtures.kube.subjects import Subject
from fixtures.options.mapping import Mapped
from fixtures.rbac.personas import identities

if TYPE_CHECKING:
    from tests.unit.rbac.personas.conftest import Stage

Object = dict[str, Any]


class Admin(Kube):
    """Makes accounts and tokens; what it becomes by a token is kept."""

    def __init__(self, refusals: int = 0, problem: Any = None) -> None:
        self.created: list[Object] = []
        self.posted: list[tuple[str, Object]] = []
        self.tokens: list[str] = []
        self.refusals, self.problem_ = refusals, problem

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        assert not dry_run
        self.created.append(item)
        return item

    def post(self, path: str, body: Object, **_: Any) -> Object:
        self.posted.append((path, body))
        return {"status": {"token": "abc", "userInfo": {"username": "me"}}}

    def as_token(self, token: str) -> Kube:
        self.tokens.append(token)
        return self

    def list(self, kind: str, *_: Any, **__: Any) -> list[Object]:
        assert kind == "ConfigMap"
        self.refusals -= 1
        if self.refusals >= 0:
            raise self.problem_(403)
        return []


def test_an_operator_has_a_role_of_the_clusters_and_waits_for_it(stage: Stage) -> None:
    admin = Admin(2, stage.problem)
    persona = identities.account(admin, "ns", "operator", "edit", "run-1")
    assert admin.refusals == -1
    account, binding = admin.created
    assert (account["kind"], binding["kind"]) == ("ServiceAccount", "RoleBinding")
    assert binding["roleRef"]["name"] == "edit"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "operator", "namespace": "ns"}]
    assert all(item["metadata"]["labels"] == {RUN_LABEL: "run-1"} for item in admin.created)
    ((path, request),) = admin.posted
    assert path == "/api/v1/namespaces/ns/serviceaccounts/operator/token"
    assert "boundObjectRef" not in request["spec"]
    assert admin.tokens == ["abc"]
    assert persona.own
    assert persona.how == "ServiceAccount ns/operator with the role edit there"


def test_an_outsider_has_nothing_and_waits_for_nothing() -> None:
    admin = Admin()
    assert identities.account(admin, "ns", "outsider", None, "r").how.endswith("no role at all")
    assert [item["kind"] for item in admin.created] == ["ServiceAccount"]


def test_the_driver_shows_a_token_of_its_pod() -> None:
    admin = Admin()
    pod = {"metadata": {"name": "p", "uid": "u", "namespace": "ns"}, "spec": {"serviceAccountName": "really-this"}}
    driver: Any = SimpleNamespace(kube=admin, pods=lambda *_: [pod])
    persona = identities.driver_on(driver, "node-a")
    path, request = admin.posted[0]
    assert path == "/api/v1/namespaces/ns/serviceaccounts/really-this/token"
    assert request["spec"]["boundObjectRef"] == {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    assert persona.how == "ServiceAccount ns/really-this by a token bound to pod p on node-a"
    assert "bound to no pod" in identities.driver_nowhere(driver).how
    assert "boundObjectRef" not in admin.posted[1][1]["spec"]


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> Kube:
    monkeypatch.setattr(Kube, "post", lambda *_, **__: {"status": {"userInfo": {"username": "somebody"}}})
    configuration = client.Configuration()
    configuration.host, configuration.ssl_ca_cert, configuration.cert_file = "https://here", "ca", "mine"
    return Kube(configuration, "me")


def test_impersonation_keeps_the_own_credentials_and_says_for_whom(kube: Kube) -> None:
    api = impersonating(kube, "jane", "dev").fresh_client()
    assert api.configuration.cert_file == "mine"
    other = impersonating(kube, "jane", "dev")._transport.client
    assert other.default_headers["Impersonate-User"] == "jane"
    assert other.default_headers["Impersonate-Group"] == "dev"
    assert "Impersonate-Group" not in impersonating(kube, "jane")._transport.client.default_headers
    assert "Impersonate-User" not in kube._transport.client.default_headers


def test_a_certificate_takes_the_place_of_the_own_one(kube: Kube) -> None:
    configuration = certified(kube, Path("theirs.pem")).fresh_client().configuration
    assert (configuration.cert_file, configuration.key_file) == ("theirs.pem", "theirs.pem")
    assert (configuration.host, configuration.ssl_ca_cert) == ("https://here", "ca")


def test_a_mapped_group_is_impersonated_where_it_works(kube: Kube) -> None:
    persona = identities.mapped(kube, "operator", Mapped(Subject("Group", "dev"), "team-a"), "ns")
    headers = persona.kube._transport.client.default_headers
    assert (headers["Impersonate-User"], headers["Impersonate-Group"]) == ("dra-conformance:operator", "dev")
    assert (persona.namespace, persona.own, persona.how) == ("team-a", False, "Group dev, impersonated")
    user = identities.mapped(kube, "viewer", Mapped(Subject("ServiceAccount", "a", "b")), "ns")
    assert user.kube._transport.client.default_headers["Impersonate-User"] == "system:serviceaccount:b:a"
    assert user.namespace == "ns"


def test_a_kubelet_shows_its_own_certificate_and_nothing_of_it_stays(
    kube: Kube, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(DockerShell, "run", lambda _, script: f"pem by {script}")
    shell = DockerShell("node-a", kubelet_root=Path("/k"), docker=Path("docker"))
    with identities.kubelet(kube, shell) as persona:
        file = Path(persona.kube.fresh_client().configuration.cert_file)
        assert file.read_text() == "pem by cat /k/pki/kubelet-client-current.pem"
        assert file.stat().st_mode & 0o077 == 0
        assert persona.subject == Subject("User", "system:node:node-a")
        assert "own client certificate" in persona.how
    assert list(tmp_path.iterdir()) == []


def test_no_key_is_taken_from_nodes_that_are_not_the_suites_own(kube: Kube) -> None:
    shell: Any = SimpleNamespace(node="node-a", kubelet_root="/k", run=None)
    with identities.kubelet(kube, shell) as persona:
        headers = persona.kube._transport.client.default_headers
        assert (headers["Impersonate-User"], headers["Impersonate-Group"]) == ("system:node:node-a", "system:nodes")
        assert "impersonated" in persona.how


def test_who_may_not_impersonate_cannot_tell(kube: Kube, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Object:
        raise stage.problem(403, "cannot impersonate")

    monkeypatch.setattr(Kube, "post", refuse)
    with pytest.raises(OtherOutcome) as said:
        identities.mapped(kube, "viewer", Mapped(Subject("Group", "dev")), "ns")
    assert said.value.outcome == "inconclusive"
    assert "may not impersonate dev" in said.value.reason


def test_the_runner_is_asked_who_it_is() -> None:
    admin = Admin()
    assert identities.runner(admin) == "me"
    assert admin.posted[0][1]["kind"] == "SelfSubjectReview"
