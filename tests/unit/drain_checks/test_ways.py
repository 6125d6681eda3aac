"""Drains, by a program that does what the test wants."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.check.outcomes import CheckFailed, OtherOutcome
from fixtures.cluster.handle import ClusterHandle
from fixtures.drain_checks.ways import Drains
from fixtures.kube.timeouts import Timeouts

if TYPE_CHECKING:
    from tests.unit.conftest import Memory


def drains(memory: Memory, tmp_path: Path, script: str = "exit 0", seconds: float = 30, *command: str) -> Drains:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{script}\n')
    kubectl.chmod(0o755)
    memory.put({"kind": "Node", "metadata": {"name": "node-1"}, "spec": {"unschedulable": True}})
    kubeconfig = tmp_path / "kubeconfig"
    handle = ClusterHandle("standard", "c", kubeconfig, "1.37.2", (), frozenset(), kubectl, Path("docker"), tmp_path)
    return Drains(memory, handle, Timeouts(1, {"drain": seconds}), command)


def test_without_a_command_of_the_users_there_are_kubectls_drain_and_our_own(memory: Memory, tmp_path: Path) -> None:
    kubectl, own = drains(memory, tmp_path).ways
    assert own.command[:4] == (sys.executable, "-m", "fixtures.drain", "{node}")
    with drains(memory, tmp_path).draining("node-1", kubectl):
        pass
    asked = (tmp_path / "asked").read_text().split()
    assert asked[:3] == [f"--kubeconfig={tmp_path}/kubeconfig", "drain", "node-1"]
    assert {"--ignore-daemonsets", "--timeout=30s"} <= set(asked)
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


def test_the_product_drain_is_found_from_anywhere_and_takes_its_own_options(memory: Memory, tmp_path: Path) -> None:
    own = drains(memory, tmp_path).own("--help")
    assert own.directory is not None
    with drains(memory, tmp_path).draining("node-1", own) as drain:
        drain.await_end()
        assert "usage: python -m fixtures.drain" in drain.said()


def test_the_users_command_goes_before_all_and_learns_node_and_kubeconfig(memory: Memory, tmp_path: Path) -> None:
    script = f"echo {{node}} {{kubeconfig}} $KUBECONFIG > {tmp_path}/told"
    (way,) = drains(memory, tmp_path, "", 30, "sh", "-c", script).ways
    with drains(memory, tmp_path).draining("node-1", way):
        pass
    kubeconfig = str(tmp_path / "kubeconfig")
    assert (tmp_path / "told").read_text().split() == ["node-1", kubeconfig, kubeconfig]


def test_a_drain_that_fails_fails_the_check_with_what_it_said(memory: Memory, tmp_path: Path) -> None:
    made = drains(memory, tmp_path, "echo cannot evict >&2; exit 1")
    with pytest.raises(CheckFailed) as caught, made.draining("node-1", made.ways[0]):
        pass
    assert caught.value.expected == "the drain of node-1 by kubectl ends well"
    assert caught.value.observed == "exit 1: cannot evict\n"
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


@pytest.mark.parametrize(
    "said",
    [
        "Error from server (InternalError): an error on the server",
        "error: Get https://a:6443/api: dial tcp: connection refused",
        "error: unexpected error: unexpected EOF",
    ],
)
def test_a_drain_that_the_api_server_failed_tells_nothing(memory: Memory, tmp_path: Path, said: str) -> None:
    made = drains(memory, tmp_path, f"echo '{said}' >&2; exit 1")
    told = pytest.raises(OtherOutcome, match="inconclusive: the drain of node-1 by kubectl gave up")
    with told, made.draining("node-1", made.ways[0]):
        pass
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


def test_without_kubectl_there_is_our_own_drain(memory: Memory, tmp_path: Path) -> None:
    made = drains(memory, tmp_path)
    (own,) = replace(made, handle=replace(made.handle, kubectl=None)).ways
    assert own.name == "fixtures.drain"


def test_a_drain_without_end_fails_the_check_and_is_ended(memory: Memory, tmp_path: Path) -> None:
    made = drains(memory, tmp_path, "exec sleep 60", 0.1)
    with pytest.raises(CheckFailed, match="it still runs"), made.draining("node-1", made.ways[0]):
        pass
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]


def test_a_drain_ends_with_the_check_that_fails_meanwhile(memory: Memory, tmp_path: Path) -> None:
    made = drains(memory, tmp_path, "exec sleep 60")
    with pytest.raises(CheckFailed, match="the driver left"), made.draining("node-1", made.ways[0]):
        raise CheckFailed("the driver stays", "the driver left")
    assert "unschedulable" not in memory.get("Node", "node-1")["spec"]
