"""An existing cluster: examined, held by the run that comes first, and given back as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.cluster.errors import ClusterError
from fixtures.cluster.existing import cluster as module
from fixtures.cluster.existing.cluster import ExistingCluster, ExistingSettings
from fixtures.cluster.existing.kubeconfig import Access
from fixtures.cluster.nodes.agents import Agents
from fixtures.cluster.nodes.shell import NodeShellError
from fixtures.kube.api import Kube

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


class World:
    """A cluster with two nodes for the driver, and what is said while it is used."""

    def __init__(self, memory: Memory, tmp_path: Path) -> None:
        self.memory, self.session = memory, tmp_path / "session"
        self.said: list[str] = []
        self.lost: list[str] = []
        for name in ("a", "b"):
            metadata = {"name": name, "labels": {"gpu": "true"}}
            memory.put({"kind": "Node", "metadata": metadata, "spec": {}, "status": READY})

    def cluster(self, run: str = "r1", *, disruptive: bool = False) -> ExistingCluster:
        settings = ExistingSettings("", "dev", disruptive, {"gpu": "true"}, "busybox")
        return ExistingCluster(self.session, settings, run, self.lost.append, self.said.append)

    def kinds(self) -> set[str]:
        return {kind for kind, _, _ in self.memory.objects}


@pytest.fixture
def world(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    access = Access("dev", "https://dev:6443", tmp_path / "kubeconfig")
    monkeypatch.setattr(module, "single_out", lambda *_: access)
    monkeypatch.setattr(module, "version_of", lambda _: "1.37.2")
    monkeypatch.setattr(module, "require_v1", lambda *_: None)
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: memory)
    monkeypatch.setattr(Agents, "refusal", lambda _: None)
    return World(memory, tmp_path)


def test_the_cluster_is_used_with_the_nodes_that_it_has(world: World) -> None:
    handle = world.cluster().ensure("standard")
    assert (handle.name, handle.kubernetes, handle.docker) == ("dev", "1.37.2", None)
    assert [node.name for node in handle.workers] == ["a", "b"]
    assert handle.spares == ()
    assert handle.capabilities == {"node-shell"}
    assert world.said == ["using the cluster dev: Kubernetes 1.37.2, devices on a, b; nothing is disturbed"]


def test_one_process_holds_it_and_the_others_find_it(world: World) -> None:
    first = world.cluster()
    handle = first.ensure("standard")
    another = world.cluster("r2")
    assert another.ensure("standard") == handle
    assert another.close(keep=True) == []
    assert "Lease" in world.kinds(), "who did not take it does not give it away"
    first.close(keep=True)
    assert world.kinds() == {"Node"}
    assert not (world.session / "existing").exists()


def test_another_run_is_locked_out(world: World, tmp_path: Path) -> None:
    held = world.cluster()
    held.ensure("standard")
    world.session = tmp_path / "another"
    second = world.cluster("r2")
    with pytest.raises(ClusterError, match="Another run holds this cluster: r1"):
        second.ensure("standard")
    second.close(keep=True)
    assert "Lease" in world.kinds()
    held.close(keep=True)


def test_it_has_no_other_topology(world: World) -> None:
    with pytest.raises(ClusterError, match="An existing cluster is no skew one"):
        world.cluster().ensure("skew")


def test_without_agents_there_is_no_shell(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Agents, "refusal", lambda _: "violates PodSecurity")
    assert world.cluster(disruptive=True).ensure("standard").capabilities == frozenset()
    assert world.said[-1] == "no shell on the nodes, some checks cannot be made: violates PodSecurity"


@pytest.mark.parametrize(("restarts", "found"), [(True, {"node-shell", "kubelet-restart"}), (False, {"node-shell"})])
def test_whether_kubelets_can_be_restarted_is_seen_on_the_nodes(
    world: World, monkeypatch: pytest.MonkeyPatch, restarts: bool, found: set[str]
) -> None:
    asked: list[str] = []

    def answering(_: Agents, script: str) -> bool:
        asked.append(script)
        return restarts

    monkeypatch.setattr(module, "answering", answering)
    assert world.cluster(disruptive=True).ensure("standard").capabilities == found
    assert asked == ["systemctl is-active --quiet kubelet"]
    assert world.said[0].endswith("nodes may be disturbed")


def test_agents_that_do_not_work_are_told_before_the_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise NodeShellError("no agent runs on a: ImagePullBackOff")

    monkeypatch.setattr(module, "answering", broken)
    cluster = world.cluster(disruptive=True)
    with pytest.raises(ClusterError) as caught:
        cluster.ensure("standard")
    assert "ImagePullBackOff" in caught.value.problem
    assert "--dra-image-registry" in caught.value.remedy
    cluster.close(keep=True)
    assert world.kinds() == {"Node"}


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (lambda world: world.memory.problem(503), "ServiceUnavailableError: 503"),
        (lambda _: KeyError("kind"), "KeyError:"),
    ],
)
def test_what_cannot_be_taken_out_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch, problem: Callable[[World], Exception], told: str
) -> None:
    cluster = world.cluster()
    cluster.ensure("standard")

    def away(*_: object) -> list[str]:
        raise problem(world)

    monkeypatch.setattr(module, "remove_leftovers", away)
    (left,) = cluster.close(keep=True)
    assert left.startswith(f"some of what has the label of run r1: {told}")
    assert not (world.session / "existing").exists()
