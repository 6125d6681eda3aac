"""A plain cluster of kind: how it is configured, and that it is deleted however its use ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from fixtures.cluster.commands import CommandError, Commands
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.interruption import interrupt_once
from fixtures.cluster.kind import by_hand
from fixtures.cluster.kind.by_hand import PlainCluster
from fixtures.cluster.kind.config import DEVICE_LABEL
from fixtures.cluster.node_image.choice import NodeImage
from fixtures.kube.api import Kube

IMAGE = NodeImage("node:1", "1.37.2", "sha256:1", Path("/kind"), Path("/kubectl"), False)


class Host:
    """Docker and kind as this host has them: notes what they are asked for, and what is left there."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.stuck = 0
        self.broken = False

    def run(self, *words: str, limit: float) -> str:
        assert limit > 0
        self.log.append(" ".join(words[:2]))
        return ""

    def kind(self, argv: list[str | Path], *, limit: float) -> str:
        assert limit > 0
        self.log.append(f"kind {argv[1]} {argv[2]}")
        if self.broken:
            raise CommandError(argv, "exit code 1", "no space left on device")
        (kubeconfig,) = (str(word).partition("=")[2] for word in argv if "kubeconfig" in str(word))
        Path(kubeconfig).write_text(yaml.safe_dump({"current-context": "kind-it"}))
        return ""

    def remove(self, name: str) -> None:
        self.log.append("remove")
        assert name.startswith("by-hand-")
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN, "a second Ctrl-C does not stop this"

    def leftovers(self, _: str) -> list[str]:
        self.stuck -= 1
        return ["container x"] if self.stuck >= 0 else []


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    engine: Any = SimpleNamespace(bin=Path("/bin"), client=Path("/docker"), run=made.run)
    monkeypatch.setattr(by_hand, "find_engine", lambda _: engine)
    monkeypatch.setattr(by_hand, "choose_node_image", lambda *_: IMAGE)
    monkeypatch.setattr(by_hand, "wait_until_ready", lambda *_: None)
    monkeypatch.setattr(by_hand, "_await_settled", lambda _: None)
    monkeypatch.setattr(by_hand, "DockerObjects", lambda _: made)
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: None)
    monkeypatch.setattr(Commands, "run", lambda _, argv, **more: made.kind(argv, **more))
    return made


MADE = ["network create", "kind create cluster"]


def test_a_plain_cluster_has_three_workers_with_the_label_that_admins_give_and_no_other(
    host: Host, tmp_path: Path
) -> None:
    with PlainCluster.made(tmp_path, print) as made:
        assert (made.context, made.kubeconfig) == ("kind-it", tmp_path / "kubeconfig")
        assert host.log == MADE
    nodes = yaml.safe_load((tmp_path / "kind.yaml").read_text())["nodes"]
    assert [node["role"] for node in nodes] == ["control-plane", "worker", "worker", "worker"]
    assert [node.get("labels") for node in nodes] == [None, *[{DEVICE_LABEL: "true"}] * 3]
    assert host.log == [*MADE, "remove"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_plain_cluster_is_deleted_after_a_signal(host: Host, number: signal.Signals, tmp_path: Path) -> None:
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        interrupt_once()
        with pytest.raises(KeyboardInterrupt), PlainCluster.made(tmp_path, print):
            os.kill(os.getpid(), number)
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
    assert host.log == [*MADE, "remove"]


def test_what_kind_had_begun_is_deleted_when_it_fails(host: Host, tmp_path: Path) -> None:
    host.broken = True
    with pytest.raises(ClusterError, match="no space left"), PlainCluster.made(tmp_path, print):
        raise AssertionError
    assert host.log == [*MADE, "remove"]


@pytest.mark.parametrize(("looks", "said"), [(1, []), (2, ["could not delete container x"])])
def test_what_comes_late_is_deleted_too_and_what_stays_is_told(
    host: Host, looks: int, said: list[str], tmp_path: Path
) -> None:
    host.stuck = looks
    lines: list[str] = []
    with PlainCluster.made(tmp_path, lines.append):
        pass
    assert host.log == [*MADE, "remove", "remove"]
    assert lines[2:] == said


def test_a_cluster_that_is_there_is_used_as_it_is(host: Host, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "mine"
    kubeconfig.write_text(yaml.safe_dump({"current-context": "mine"}))
    assert PlainCluster.known(kubeconfig, print).context == "mine"
    assert host.log == []
