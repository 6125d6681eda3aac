"""Recording rights: where the suites run for it, what is taken from the run, and what an interruption leaves."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.cluster.errors import ClusterError
from fixtures.cluster.kind.by_hand import PlainCluster
from fixtures.kube.request_log import LOG_VARIABLE
from fixtures.rights import __main__ as command
from fixtures.rights.right import Right
from fixtures.rights.table import Table

OPERATOR = "rbac.operator.manages-claims"
PLACE = "suites/rbac/test_operator.py::test_manages_claims"
LINE = {"agent": "a", "test": PLACE, "method": "get", "path": "/api/v1/configmaps", "watch": False, "apply": False}
MINE = ("--dra-cluster=existing", "--dra-context", "mine")


class Session:
    """Stands for a run of the suites as a process, and for the plain cluster that is made for it; notes both."""

    def __init__(self, provider: str, interrupted: bool) -> None:
        self.provider = provider
        self.interrupted = interrupted
        self.cluster: list[str] = []
        self.words: list[str] = []
        self.signals: list[int] = []
        self.written: list[Table] = []

    def start(self, words: list[str], *, env: dict[str, str], **_: Any) -> Session:
        self.words = words[words.index("suites") :]
        out = Path(words[-1].partition("=")[2], "run")
        out.mkdir(parents=True)
        check = {"id": OPERATOR, "practice": "rbac", "claim": "c", "level": "core", "source": "s", "outcome": "passed"}
        moment = "2026-01-01T00:00:00Z"
        metadata = {"runId": "r", "started": moment, "finished": moment, "suiteVersion": "1", "catalogueSHA256": "0"}
        report = {"metadata": metadata, "verdict": "conformant", "exitCode": 0, "practices": [], "checks": [check]}
        report |= {"cluster": {"provider": self.provider, "name": "", "serverVersion": ""}, "driver": {"name": "d"}}
        (out / "conformance-report.json").write_text(json.dumps(report))
        Path(env[LOG_VARIABLE]).write_text(json.dumps(LINE | {"body": {}}) + "\n")
        return self

    def wait(self) -> None:
        if self.interrupted and not self.signals:
            raise KeyboardInterrupt

    def send_signal(self, number: int) -> None:
        self.signals.append(number)

    @contextmanager
    def made(self, directory: Path, _say: object) -> Iterator[Any]:
        self.cluster.append("made")
        try:
            yield SimpleNamespace(kubeconfig=directory / "kubeconfig", context="kind-it")
        finally:
            self.cluster.append("deleted")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Session]:
    def begin(provider: str = "existing", *, interrupted: bool = False) -> Session:
        made = Session(provider, interrupted)

        def keep(table: Table) -> None:
            made.written.append(table)

        monkeypatch.setattr("subprocess.Popen", made.start)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(PlainCluster, "made", made.made)
        monkeypatch.setattr(Table, "load", lambda: Table(frozenset(), frozenset(), {}))
        monkeypatch.setattr(Table, "write", keep)
        return made

    return begin


RECORDED = Table(frozenset(), frozenset(), {OPERATOR: frozenset({Right.parse("list configmaps")})})


def test_one_command_makes_a_cluster_records_and_deletes_it(session: Callable[..., Session], tmp_path: Path) -> None:
    run = session()
    assert command.main(["--record"]) == 0
    assert run.cluster == ["made", "deleted"]
    assert {"--dra-cluster=existing", "--dra-context=kind-it", "--dra-allow-disruptive"} <= set(run.words)
    assert any(word.startswith("--dra-kubeconfig=") for word in run.words)
    assert run.written == [RECORDED]
    assert not list(tmp_path.iterdir())


def test_words_for_pytest_come_after_those_of_the_cluster_so_that_they_count(session: Callable[..., Session]) -> None:
    run = session()
    assert command.main(["--record", "--", "--dra-check", OPERATOR, "-n0"]) == 0
    assert run.cluster == ["made", "deleted"]
    assert run.words.index("-n") < run.words.index("--dra-check") < run.words.index("-n0")


@pytest.mark.parametrize("words", [MINE, ("--dra-kubeconfig=mine",), ("--dra-context=mine",)])
def test_who_names_a_cluster_has_the_rights_recorded_there(
    session: Callable[..., Session], words: tuple[str, ...]
) -> None:
    run = session()
    assert command.main(["--record", "--", *words]) == 0
    assert run.cluster == []
    assert run.words[3:-1] == [*words]
    assert run.written == [RECORDED]


def test_nothing_is_recorded_in_a_cluster_that_the_run_makes_itself(
    session: Callable[..., Session], capsys: pytest.CaptureFixture[str]
) -> None:
    run = session("kind")
    assert command.main(["--record", "--", "--dra-cluster=kind"]) == 2
    assert run.written == []
    assert "--dra-cluster existing" in capsys.readouterr().err


def test_an_interrupted_run_ends_in_good_order_and_leaves_nothing(
    session: Callable[..., Session], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = session(interrupted=True)
    assert command.main(["--record"]) == command.INTERRUPTED
    assert run.signals == [signal.SIGINT], "the run is told, too, and waited for"
    assert run.cluster == ["made", "deleted"]
    assert run.written == []
    assert not list(tmp_path.iterdir())
    assert "nothing is recorded" in capsys.readouterr().err


def test_a_host_without_a_cluster_is_told_with_its_remedy(
    session: Callable[..., Session], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_: object) -> Any:
        raise ClusterError("No docker engine answers.", "Start docker.")

    run = session()
    monkeypatch.setattr(PlainCluster, "made", none)
    assert command.main(["--record"]) == 2
    assert (run.words, run.written) == ([], [])
    assert capsys.readouterr().err == "No docker engine answers.\nRemedy: Start docker.\n"
