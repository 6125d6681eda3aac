"""The conftest of a project whose suites are small and whose cluster is made of words; the run itself is the real one.

What happens to the cluster is written to the file `cluster.log`; files named `no-*` make a step of its life fail; with
one named `few-rights` the runner may do much, but not everything.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fixtures
from fixtures.check import collected

HERE = Path(__file__).parent
collected.SUITES = HERE / "suites"
collected.FILE = collected.SUITES / "catalogue.yaml"

from fixtures.cluster.errors import ClusterError  # noqa: E402
from fixtures.cluster.handle import ClusterHandle, Node  # noqa: E402
from fixtures.driver.check_run import CHECK_RUN, CheckRun  # noqa: E402
from fixtures.kube.api import Kube  # noqa: E402
from fixtures.options.options import Options  # noqa: E402
from fixtures.recorder.reading import Recorder  # noqa: E402
from fixtures.run import controller  # noqa: E402
from fixtures.run.paths import RunPaths  # noqa: E402

Object = dict[str, Any]


class Words(Kube):
    """An API server that knows one node, and is alive unless the file `dead` exists."""

    def __init__(self) -> None:
        pass

    @classmethod
    def from_kubeconfig(cls, path: Path | None, user_agent: str, context: str | None = None) -> Kube:  # noqa: ARG003
        assert path is not None
        assert path.name == "kubeconfig"
        assert user_agent.startswith("dra-conformance/")
        if (HERE / "no-access").exists():
            raise PermissionError("no access")
        return cls()

    def raw(self, method: str, path: str, **_: Any) -> str:
        assert method == "get"
        answers: Object = {
            "/version": {"gitVersion": "v1.37.2"},
            "/apis/resource.k8s.io": {"versions": [{"version": "v1"}]},
        }
        return json.dumps(answers[path])

    def post(self, path: str, body: Object, *, retry: bool = True) -> Object:
        assert retry
        assert (path.rpartition("/")[2], body["kind"]) == ("selfsubjectaccessreviews", "SelfSubjectAccessReview")
        everything = body["spec"].get("resourceAttributes", {}).get("verb") == "*"
        return {"status": {"allowed": not (everything and (HERE / "few-rights").exists())}}

    def list(self, kind: str, *_: Any, **__: Any) -> list[Object]:
        info = {"kubeletVersion": "v1.37.2", "containerRuntimeVersion": "containerd://2"}
        return [{"metadata": {"name": "node-1"}, "status": {"nodeInfo": info}}] if kind == "Node" else []

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        assert not dry_run
        _log(f"create {item['kind']} {item['metadata']['labels'].keys()}")
        return item

    def delete(self, kind: str, name: str, namespace: str | None = None, *, grace: int | None = None) -> None:
        assert (kind, namespace, grace) == ("Namespace", None, None)
        _log(f"delete {kind} {name[:4]}")

    def patch(self, kind: str, name: str, namespace: str | None, patch: Object, *_: Any, **__: Any) -> Object:
        assert namespace is None
        _log(f"patch {kind} {name} {patch['metadata']['labels'].keys()}")
        return patch

    def alive(self) -> bool:
        return not (HERE / "dead").exists()


class Clusters:
    def ensure(self, topology: str) -> ClusterHandle:
        _log(f"ensure {topology}")
        if (HERE / "no-engine").exists():
            raise ClusterError("There is no container engine.", "Start docker.")
        if (HERE / "no-patience").exists():
            raise KeyboardInterrupt
        nodes = (Node("control", "control-plane", ""), Node("node-1", "worker", ""), Node("node-2", "spare", ""))
        return ClusterHandle(topology, "words", HERE / "kubeconfig", "1.37.2", nodes, frozenset(), HERE, HERE, HERE)

    def close(self, *, keep: bool) -> list[str]:
        _log(f"close keep={keep}")
        return ["network words"] if (HERE / "no-end").exists() else []


def _log(text: str) -> None:
    with (HERE / "cluster.log").open("a") as file:
        file.write(text + "\n")


def _clusters(paths: RunPaths, options: Options, say: Callable[[str], None]) -> Clusters:
    assert (options.cluster, options.kubernetes, options.node_image) == ("kind", "1.37.2", "auto")
    if not paths.session.exists():
        say("making words")
        paths.session.mkdir()
    return Clusters()


vars(controller).update(clusters=_clusters, Kube=Words)


@pytest.fixture(scope="session")
def cluster(paths: RunPaths) -> ClusterHandle:
    """In the place of the real one."""
    assert paths.session.exists()
    return Clusters().ensure("standard")


@pytest.fixture
def kube() -> Kube:
    """In the place of the real one."""
    return Words()


@pytest.fixture
def check_run(request: pytest.FixtureRequest, cluster: ClusterHandle, tmp_path: Path) -> CheckRun:
    """In the place of the real one: a namespace of words, with a recorder of its own."""
    handle = replace(cluster, state=tmp_path)
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "events.jsonl").touch()
    made = CheckRun(handle, Words(), Recorder(handle.state, Words()), {}, "ns")
    request.node.stash[CHECK_RUN] = made
    return made


_spec = importlib.util.spec_from_file_location("root", Path(fixtures.__file__).parents[1] / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
_root = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_root)
pytest_plugins = _root.pytest_plugins
pytest_addoption = _root.pytest_addoption
pytest_cmdline_main = _root.pytest_cmdline_main
pytest_configure = _root.pytest_configure
