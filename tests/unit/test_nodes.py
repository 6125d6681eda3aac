"""The shell on a node, with a container engine that runs the commands right here."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from fixtures import nodes
from fixtures.nodes import NodeShell, NodeShellError

ENGINE = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
[ "$1" = exec ] && shift 2 && exec "$@"
exit 0
"""


@pytest.fixture
def shell(tmp_path: Path) -> NodeShell:
    engine = tmp_path / "engine"
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    return NodeShell("node-1", engine, tmp_path)


def test_a_script_runs_on_its_node_and_gives_its_output(shell: NodeShell, tmp_path: Path) -> None:
    assert shell.run("echo one; echo two") == "one\ntwo\n"
    assert (tmp_path / "asked").read_text() == "exec node-1 sh -c echo one; echo two\n"


def test_a_failing_script_tells_node_code_and_output(shell: NodeShell) -> None:
    with pytest.raises(NodeShellError) as caught:
        shell.run("echo no such thing >&2; exit 3")
    assert str(caught.value).endswith("on node-1: exit 3: no such thing")


def test_a_script_without_end_is_an_error_of_the_shell(shell: NodeShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_EXEC_LIMIT", 0.1)
    with pytest.raises(NodeShellError, match=r"on node-1: no end within 0\.1 s"):
        shell.run("exec sleep 60")


def test_the_sockets_of_a_driver_are_those_in_its_directory_and_those_that_carry_its_name(
    shell: NodeShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = ["plugins/x.dra/dra.sock", "plugins_registry/x.dra-uid-reg.sock"]
    others = ["plugins/x.dra/deeper/other.sock", "plugins/y.dra/dra.sock", "plugins_registry/y.dra-reg.sock"]
    listeners = []
    for name in mine + others:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        listeners.append(socket.socket(socket.AF_UNIX))
        listeners[-1].bind(name)
    Path("plugins/x.dra/state.json").touch()
    assert shell.sockets("x.dra") == [str(tmp_path / name) for name in mine]
    for listener in listeners:
        listener.close()


def test_a_driver_that_never_was_there_has_no_sockets(shell: NodeShell) -> None:
    assert shell.sockets("x.dra") == []


def test_no_cdi_file_mentions_what_never_was(shell: NodeShell) -> None:
    assert shell.cdi_files("no-such-claim 'or' \"quote\"") == []


def test_a_signal_reaches_its_process(shell: NodeShell) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        shell.signal(process.pid, "KILL")
        assert process.wait(10) == -9


def test_the_kubelet_and_the_node_are_restarted_by_their_own_commands(
    shell: NodeShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NodeShell, "run", lambda _, script: script)
    assert "--since @1700000000 | tail -n 3000" in shell.kubelet_log(1700000000.9)
    monkeypatch.undo()
    shell.restart_node()
    assert (tmp_path / "asked").read_text() == "restart --time 10 node-1\n"
