"""What cannot work is told at once, with a remedy, and nothing is made."""

from __future__ import annotations

import base64
import copy
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import yaml

if TYPE_CHECKING:
    from tests.existing.conftest import ByHand, Everything
    from tests.runs import Suite

Object = dict[str, Any]
NOBODY = "nobody-with-rights"


@pytest.fixture
def powerless(by_hand: ByHand) -> Any:
    """A token of a ServiceAccount that nothing was granted to."""
    kube, namespace = by_hand.kube, "default"
    item = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NOBODY, "namespace": namespace}}
    kube.create(item)
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{NOBODY}/token"
    answer = kube.post(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    yield answer["status"]["token"]
    kube.delete("ServiceAccount", NOBODY, namespace)


def changed(by_hand: ByHand, target: Path, *, cluster: Object | None = None, user: Object | None = None) -> str:
    """The cluster's kubeconfig with another server, certificate authority or user."""
    content = copy.deepcopy(yaml.safe_load(by_hand.kubeconfig.read_text()))
    content["clusters"][0]["cluster"] |= cluster or {}
    content["users"][0]["user"] = user or content["users"][0]["user"]
    target.write_text(yaml.safe_dump(content))
    return f"--dra-kubeconfig={target}"


@pytest.mark.parametrize(
    ("cluster", "user", "says"),
    [
        ({"server": "https://127.0.0.1:1"}, None, "https://127.0.0.1:1 (context"),
        (None, {"token": "long-expired"}, "does not accept the credentials of the context"),
        (
            None,
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "false"}},
            "does not accept the cr",
        ),
        ({"certificate-authority-data": "OTHER"}, None, "cannot be"),
    ],
)
def test_who_is_not_let_in_is_told_why(
    by_hand: ByHand,
    suite: Suite,
    tmp_path: Path,
    look: Callable[[], Everything],
    cluster: Object | None,
    user: Object | None,
    says: str,
) -> None:
    before = look()
    if cluster and "certificate-authority-data" in cluster:
        cluster = {"certificate-authority-data": base64.b64encode(b"no certificate").decode()}
    done = suite.run(changed(by_hand, tmp_path / "bad", cluster=cluster, user=user))
    assert done.code == 2
    assert says in done.said
    assert "Remedy: " in done.said
    assert "Traceback" not in done.said
    assert done.report is None
    assert before.changes(look()) == []


def test_who_has_no_rights_is_told_which_is_missing(
    by_hand: ByHand, suite: Suite, tmp_path: Path, powerless: str, look: Callable[[], Everything]
) -> None:
    before = look()
    done = suite.run(changed(by_hand, tmp_path / "bad", user={"token": powerless}))
    assert done.code == 2
    assert f'User "system:serviceaccount:default:{NOBODY}" cannot list resource "nodes"' in done.said
    assert "Remedy: " in done.said
    assert before.changes(look()) == []


class OldServer(BaseHTTPRequestHandler):
    """An API server of Kubernetes 1.33, as far as it is asked."""

    answers: ClassVar[Object] = {
        "/version": {"gitVersion": "v1.33.13"},
        "/apis/resource.k8s.io": {"versions": [{"version": "v1beta2"}, {"version": "v1beta1"}]},
    }

    def do_GET(self) -> None:
        found = self.answers.get(self.path)
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(json.dumps(found or {"kind": "Status", "code": 404}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def test_a_cluster_without_the_api_is_told_which_version_it_has(by_hand: ByHand, suite: Suite, tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), OldServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = suite.run(
            changed(by_hand, tmp_path / "old", cluster={"server": f"http://127.0.0.1:{server.server_port}"})
        )
        server.shutdown()
    assert done.code == 2
    assert "does not serve resource.k8s.io/v1. It is Kubernetes 1.33.13 and serves v1beta2, v1beta1" in done.said
    assert "Remedy: Kubernetes serves v1 from 1.34 on" in done.said
    assert done.report is None


def test_a_cluster_without_a_node_for_the_driver_is_told_how_to_choose_some(
    by_hand: ByHand, suite: Suite, tmp_path: Path
) -> None:
    manifest = tmp_path / "driver.yaml"
    manifest.write_text(
        "apiVersion: dra.conformance/v1alpha1\n"
        "kind: DriverUnderTest\n"
        "name: gpu.example.com\n"
        "implementation: {organization: Example, project: gpu, version: '1', url: https://example.com}\n"
        "install: {kind: preinstalled}\n"
        "workload: {namespace: gpu, daemonSets: [plugin], serviceAccount: plugin, "
        "containers: {plugin: gpu.example.com}}\n"
        "claim: {deviceClassName: gpu.example.com}\n"
        "proof: {env: X_.*, value: '{device}'}\n"
        "nodeSelector: {no-such-label: 'true'}\n"
    )
    done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", f"--dra-driver={manifest}")
    assert done.code == 2
    assert "none has the label no-such-label=true" in done.said
    assert "kubectl label node NAME no-such-label=true" in done.said
