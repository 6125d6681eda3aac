"""What is written down before it is done can be undone by whoever comes last."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.cluster.nodes.shell import DockerShell, NodeShellError
from fixtures.cluster.undoing import OfObject, OnNode, UndoLog, left_in, undo_all, undo_log

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

SHELLS: Any = {"n": DockerShell("n", Path("docker"))}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    scripts: list[str] = []

    def run(_: DockerShell, script: str) -> str:
        scripts.append(script)
        if script == "fails":
            raise NodeShellError("no such process")
        return ""

    monkeypatch.setattr(DockerShell, "run", run)
    return scripts


def test_the_last_is_undone_first_and_nothing_stays_written(tmp_path: Path, memory: Memory, ran: list[str]) -> None:
    log = undo_log(tmp_path, "1a2b3c")
    assert not left_in(tmp_path)
    for script in "abc":
        log.add(OnNode("n", script))
        assert left_in(tmp_path)
    assert log.undo(memory, SHELLS, log.on("n")[2:]) == []
    assert log.undo(memory, SHELLS) == []
    assert ran == ["c", "b", "a"]
    assert not left_in(tmp_path)


def test_who_was_ended_is_stood_in_for(tmp_path: Path, memory: Memory, ran: list[str]) -> None:
    memory.put({"kind": "DaemonSet", "metadata": {"name": "d", "namespace": "ns"}, "spec": {"a": "changed"}})
    memory.put({"kind": "DeviceClass", "metadata": {"name": "made"}})
    log = undo_log(tmp_path, "1a2b3c")
    log.add(OnNode("n", "script"))
    log.add(OfObject("DaemonSet", "d", "ns", {"spec": {"a": "was"}}))
    log.add(OfObject("DeviceClass", "made"))
    log.add(OfObject("DaemonSet", "gone", "ns", {"spec": {}}))
    assert undo_all(tmp_path, memory, SHELLS) == []
    assert memory.get("DaemonSet", "d", "ns")["spec"] == {"a": "was"}
    assert memory.find("DeviceClass", "made") is None
    assert ran == ["script"]
    assert not left_in(tmp_path)


@pytest.mark.usefixtures("ran")
def test_what_cannot_be_undone_stays_written_and_is_told_with_the_remedy(tmp_path: Path, memory: Memory) -> None:
    log = undo_log(tmp_path, "1a2b3c")
    for script in ("first", "fails", "last"):
        log.add(OnNode("n", script))
    (told,) = log.undo(memory, SHELLS)
    assert told == "not undone: on n: fails (no such process)"
    assert UndoLog.read(tmp_path / "undo" / "1a2b3c.json").on("n") == log.on("n") == [OnNode("n", "fails")]


def test_threads_undo_each_what_is_on_their_node(tmp_path: Path, memory: Memory, ran: list[str]) -> None:
    log, both = undo_log(tmp_path, "1a2b3c"), threading.Barrier(2)
    shells: Any = {node: DockerShell(node, Path("docker")) for node in "ab"}

    def disturb(node: str) -> list[str]:
        told = []
        for number in range(50):
            before = len(log.on(node))
            log.add(OnNode(node, f"{node}{number}"))
            both.wait(10)
            told += log.undo(memory, shells, log.on(node)[before:])
        return told

    with ThreadPoolExecutor(2) as together:
        assert list(together.map(disturb, "ab")) == [[], []]
    assert sorted(ran) == sorted(f"{node}{number}" for node in "ab" for number in range(50))
    assert not left_in(tmp_path)


def test_the_remedy_for_an_object_is_a_command() -> None:
    patch = {"metadata": {"labels": {"a": None}}}
    text = str(OfObject("Node", "n", None, patch))
    assert text == """kubectl patch Node n --type merge --patch '{"metadata": {"labels": {"a": null}}}'"""
    assert str(OfObject("DeviceClass", "c")) == "kubectl delete DeviceClass c"
