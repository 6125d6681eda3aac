"""The shell on a node, in both ways: a container engine and an agent that run the commands right here."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.cluster.nodes import agents
from fixtures.cluster.nodes import shell as module
from fixtures.cluster.nodes.agents import Agents, AgentShell
from fixtures.cluster.nodes.shell import DockerShell, NodeShell, NodeShellError
from fixtures.kube.api import Kube
from fixtures.kube.exec import Done, Unheard

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

ENGINE = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
[ "$1" = exec ] && shift 2 && exec "$@"
exit 0
"""
# What enters the namespaces of process 1 leaves its options away and goes on right here.
NSENTER = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
while [ "$1" != sh ]; do shift; done
exec "$@"
"""


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@dataclass
class Connection:
    """The stream to an agent's container, which is this host; it breaks off as often as it is told to."""

    place: Path
    broken: int = 0
    asked: list[str] = field(default_factory=list)

    def execute(
        self, _kube: Kube, pod: str, namespace: str, container: str, command: Sequence[str], limit: float
    ) -> Done:
        self.asked.append(f"{namespace}/{pod}/{container}")
        words = [word.replace("d=/tmp/", f"d={self.place}/answer-") for word in command]
        environment = os.environ | {"PATH": f"{self.place}:{os.environ['PATH']}"}
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=limit, env=environment, check=False)
        except subprocess.TimeoutExpired as error:
            raise Unheard(f"no end within {limit:g} s") from error
        if self.broken:
            self.broken -= 1
            raise Unheard("the stream broke off")
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Connection:
    made = Connection(tmp_path)
    program(tmp_path / "nsenter", NSENTER)
    monkeypatch.setattr(agents, "execute", made.execute)
    monkeypatch.setattr(Agents, "pod_on", lambda _, node: f"agent-of-{node}")
    return made


@pytest.fixture
def by_agent(connection: Connection, memory: Memory, tmp_path: Path) -> AgentShell:
    assert not connection.asked
    return AgentShell("node-1", Agents(memory, "r1", "busybox", ("node-1",), tmp_path), kubelet_root=tmp_path)


@pytest.fixture
def by_docker(tmp_path: Path) -> DockerShell:
    return DockerShell("node-1", program(tmp_path / "engine", ENGINE), kubelet_root=tmp_path)


@pytest.fixture(params=["by_docker", "by_agent"])
def shell(request: pytest.FixtureRequest) -> NodeShell:
    made: NodeShell = request.getfixturevalue(request.param)
    return made


def test_a_script_runs_on_its_node_and_gives_its_output(shell: NodeShell) -> None:
    assert shell.run("echo one; echo two") == "one\ntwo\n"


def test_docker_runs_a_script_in_the_nodes_container(by_docker: DockerShell, tmp_path: Path) -> None:
    by_docker.run("echo one; echo two")
    assert (tmp_path / "asked").read_text() == "exec node-1 sh -c echo one; echo two\n"


def test_an_agent_runs_a_script_in_the_nodes_namespaces(
    by_agent: AgentShell, connection: Connection, tmp_path: Path
) -> None:
    by_agent.run("echo one; echo two")
    assert connection.asked == ["dra-agents-r1/agent-of-node-1/agent"]
    assert (tmp_path / "asked").read_text() == "-t 1 -m -u -i -n sh -c echo one; echo two\n"


@pytest.mark.parametrize("code", [0, 3])
def test_a_script_runs_once_though_the_stream_to_the_agent_breaks_off(
    by_agent: AgentShell, connection: Connection, tmp_path: Path, code: int
) -> None:
    connection.broken = 2
    done = by_agent.agents.ask("node-1", f"echo x >>{tmp_path}/runs; echo said; exit {code}")
    assert done == Done(code, "said\n", "")
    assert len(connection.asked) == 3
    assert (tmp_path / "runs").read_text() == "x\n"


def test_a_stream_that_never_comes_about_is_an_error_of_the_shell(
    by_agent: AgentShell, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.broken = 1000
    with pytest.raises(NodeShellError, match=r"true on node-1: no end within \d+ s: the stream broke off"):
        by_agent.agents.ask("node-1", "true", limit=0.3)
    monkeypatch.undo()


def test_a_machine_of_somebody_else_is_not_restarted(by_agent: AgentShell) -> None:
    with pytest.raises(NodeShellError, match="somebody else's cluster"):
        by_agent.restart_node()


def test_a_failing_script_tells_node_code_and_output(shell: NodeShell) -> None:
    with pytest.raises(NodeShellError) as caught:
        shell.run("echo no such thing >&2; exit 3")
    assert str(caught.value).endswith("on node-1: exit code 3: no such thing")


def test_a_script_without_end_is_an_error_of_the_shell(shell: NodeShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXEC_LIMIT", 0.1)
    monkeypatch.setattr(Agents, "ask", partialmethod(Agents.ask, limit=0.1))
    with pytest.raises(NodeShellError, match=r"on node-1: no end within \d(\.1)? s"):
        shell.run("exec sleep 3")


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


def test_nothing_of_a_driver_that_is_gone_is_left_on_a_node(shell: NodeShell, tmp_path: Path) -> None:
    gone = ["plugins/x.dra/state.json", "plugins/x.dra/deeper/file", "plugins_registry/x.dra-uid-reg.sock"]
    stays = ["plugins/y.dra/state.json", "plugins_registry/y.dra-reg.sock"]
    for name in gone + stays:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    shell.forget("x.dra")
    assert [name for name in gone + stays if (tmp_path / name).exists()] == stays
    assert not (tmp_path / "plugins/x.dra").exists()
    shell.forget("x.dra")


def test_a_signal_reaches_its_process(shell: NodeShell) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        shell.signal(process.pid, "KILL")
        assert process.wait(10) == -9


def test_the_kubelet_is_asked_for_its_log_since_a_time(shell: NodeShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(shell), "run", lambda _, script: script)
    assert "--since @1700000000 | tail -n 3000" in shell.kubelet_log(1700000000.9)


def test_docker_restarts_a_node(by_docker: DockerShell, tmp_path: Path) -> None:
    by_docker.restart_node()
    assert (tmp_path / "asked").read_text() == "restart --time 10 node-1\n"
