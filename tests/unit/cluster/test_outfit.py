"""What a driver needs on the nodes of a kind cluster is put there once, and what cannot be is told with the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drivers.loading import load
from drivers.manifest import DriverManifest
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.handle import ClusterHandle, Node, Role
from fixtures.cluster.kind.outfit import outfit
from fixtures.kube.api import Kube

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

ROLES: dict[str, Role] = {"cp": "control-plane", "w": "worker", "s": "spare"}


@pytest.fixture
def docker(tmp_path: Path) -> Path:
    """A docker that writes down what it is asked, and fails for what has `broken` in it."""
    script = tmp_path / "docker"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\ncase "$*" in *broken*) echo no such image >&2; exit 1;; esac\n'
    )
    script.chmod(0o755)
    return script


@pytest.fixture
def handle(docker: Path, tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> ClusterHandle:
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: memory)
    for name in ROLES:
        memory.put({"kind": "Node", "metadata": {"name": name, "labels": {"gpu": "there"}}})
    nodes = tuple(Node(name, role, "10.0.0.1") for name, role in ROLES.items())
    return ClusterHandle("standard", "c", tmp_path, "1.37.2", nodes, frozenset(), None, docker, tmp_path)


def of(**changes: object) -> DriverManifest:
    return load("fake").model_copy(update={"node_selector": {}, **changes})


def asked(handle: ClusterHandle) -> list[str]:
    return (handle.state / "asked").read_text().splitlines()


def test_images_are_put_on_every_node_and_the_script_is_run_on_workers(handle: ClusterHandle, tmp_path: Path) -> None:
    archive, script = tmp_path / "gpu.tar", tmp_path / "setup.sh"
    archive.touch()
    script.touch()
    said: list[str] = []
    outfit(handle, of(images=(str(archive), "gpu:1"), node_setup=script), said.append)
    imports = [line.split()[1] for line in asked(handle) if "images import" in line]
    assert imports == ["cp", "w", "s"] * 2
    assert f"save gpu:1 --output {tmp_path}/image.tar" in asked(handle)
    assert [line.split()[1] for line in asked(handle) if line.endswith("sh /dra-conformance-setup")] == ["w", "s"]
    assert said == [f"putting {archive} on 3 nodes", "putting gpu:1 on 3 nodes", "running setup.sh on 2 nodes"]


def test_an_image_that_is_none_and_a_script_that_fails_are_told(handle: ClusterHandle, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"(?s)The image broken:1 cannot be put on the nodes: .*no such image"):
        outfit(handle, of(images=("broken:1",)), print)
    script = tmp_path / "broken.sh"
    script.touch()
    with pytest.raises(ClusterError, match=r"broken.sh fails on w: "):
        outfit(handle, of(node_setup=script), print)


@pytest.mark.parametrize(("name", "spare"), [("d-{id}.example.com", "yes"), ("gpu.example.com", None)])
def test_nodes_have_the_labels_by_which_the_driver_selects_them(
    handle: ClusterHandle, memory: Memory, name: str, spare: str | None
) -> None:
    outfit(handle, of(name=name, node_selector={"gpu": "yes"}), print)
    labels = {node: memory.get("Node", node)["metadata"]["labels"].get("gpu") for node in ROLES}
    assert labels == {"cp": "there", "w": "yes", "s": spare}
