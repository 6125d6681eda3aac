"""What keeps a run out of somebody else's cluster is told in words, with a remedy."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3.exceptions
from kubernetes.config import ConfigException
from kubernetes.dynamic import exceptions

from fixtures.cluster.errors import ClusterError
from fixtures.cluster.existing.kubeconfig import Access
from fixtures.cluster.existing.reached import explained, require_v1, version_of
from fixtures.kube.api import Gone, Kube

ACCESS = Access("dev", "https://dev:6443", Path("kubeconfig"))
POOL: Any = SimpleNamespace()


def answer(status: int, message: str) -> Exception:
    facts = SimpleNamespace(status=status, reason="", body=json.dumps({"message": message}), headers={})
    return exceptions.api_exception(facts)  # type: ignore[no-any-return,no-untyped-call]


@pytest.mark.parametrize(
    ("error", "problem", "remedy"),
    [
        (answer(401, "Unauthorized"), "does not accept the credentials of the context 'dev': Unauthorized", "Log in"),
        (answer(403, 'User "system:anonymous" cannot list'), "does not accept the credentials", "Log in again"),
        (answer(403, 'User "ann" cannot list nodes'), "lacks a right that every run needs: User", "fixtures.rights"),
        (answer(404, "404 page not found"), "does not answer as a Kubernetes API server: 404", "--dra-context"),
        (answer(503, "overloaded"), "does not answer as a Kubernetes API server: 503 overloaded", "/readyz"),
        (
            urllib3.exceptions.MaxRetryError(POOL, "/version", urllib3.exceptions.SSLError("self-signed certificate")),
            "https://dev:6443 (context 'dev') cannot be trusted: self-signed certificate",
            "certificate authority",
        ),
        (
            urllib3.exceptions.MaxRetryError(
                POOL, "/version", urllib3.exceptions.NewConnectionError(POOL, "Connection refused")
            ),
            "https://dev:6443 (context 'dev') does not answer: NewConnectionError: ",
            "VPN",
        ),
        (urllib3.exceptions.ProtocolError("cut"), "does not answer: ProtocolError: cut", "VPN"),
        (ConfigException("exec: no aws"), "The context 'dev' cannot be used: exec: no aws", "kubectl get nodes"),
        (ssl.SSLError("bad certificate"), "The context 'dev' cannot be used: ", "kubectl get nodes"),
    ],
)
def test_every_way_not_to_reach_it_has_its_words(error: Exception, problem: str, remedy: str) -> None:
    with pytest.raises(ClusterError) as caught, explained(ACCESS):
        raise error
    assert problem in caught.value.problem
    assert "object at 0x" not in caught.value.problem
    assert remedy in caught.value.remedy


def test_what_is_wrong_with_us_is_not_explained_away() -> None:
    with pytest.raises(KeyError), explained(ACCESS):
        raise KeyError("ours")


class Answers(Kube):
    """An API server with texts for paths."""

    def __init__(self, **texts: object) -> None:
        self.texts = texts

    def raw(self, method: str, path: str, **_: Any) -> str:
        assert method == "get"
        found = self.texts.get(path.rpartition("/")[2].replace(".", "_"))
        if found is None:
            gone: Gone = answer(404, "")  # type: ignore[assignment]
            raise gone
        return json.dumps(found)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("v1.37.2", "1.37.2"),
        ("v1.36.1-gke.1729000", "1.36.1"),
        ("1.35.0+k3s1", "1.35.0"),
        ("", "of an unknown version"),
    ],
)
def test_the_version_is_that_of_kubernetes(said: str, version: str) -> None:
    assert version_of(Answers(version={"gitVersion": said})) == version


def served(*versions: str) -> Kube:
    return Answers(resource_k8s_io={"versions": [{"version": version} for version in versions]})


def test_a_cluster_that_serves_v1_will_do() -> None:
    require_v1(served("v1", "v1beta2"), "1.37.2", "dev")


@pytest.mark.parametrize(
    ("kube", "version", "problem", "remedy"),
    [
        (served("v1beta2", "v1beta1"), "1.33.13", "It is Kubernetes 1.33.13 and serves v1beta2, v1beta1 of", "upgrade"),
        (Answers(), "1.30.1", "It is Kubernetes 1.30.1 and serves no version of this API", "upgrade the cluster"),
        (served("v1beta2"), "1.36.3", "It is Kubernetes 1.36.3 and serves v1beta2", "--runtime-config"),
    ],
)
def test_one_without_v1_is_told_by_its_version(kube: Kube, version: str, problem: str, remedy: str) -> None:
    with pytest.raises(ClusterError) as caught:
        require_v1(kube, version, "dev")
    assert "the context 'dev' does not serve resource.k8s.io/v1" in caught.value.problem
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
