"""Simulated nodes: how kwok gets onto the control-plane node, and what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fixtures.cluster.commands import CommandError
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.kind import kwok
from fixtures.scale.pods import LASTS


class Engine:
    def __init__(self, refuses: str = "") -> None:
        self.calls: list[tuple[str, ...]] = []
        self.refuses = refuses

    def run(self, *arguments: str | Path, limit: float = 0) -> str:  # noqa: ARG002
        self.calls.append(tuple(map(str, arguments)))
        if self.refuses and self.refuses in self.calls[-1]:
            raise CommandError(["docker"], "exit code 1", "no such container")
        return ""


@pytest.fixture(autouse=True)
def _built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Workshop:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def go(self, _: object) -> Path:
            return tmp_path

    monkeypatch.setattr(kwok, "Workshop", Workshop)


def test_binary_stages_and_service_are_copied_and_started(tmp_path: Path) -> None:
    engine: Any = Engine()
    kwok.start(engine, "c-control-plane", lambda _: None)
    copied = {call[2] for call in engine.calls if call[0] == "cp"}
    assert copied == {
        "c-control-plane:/usr/local/bin/kwok",
        "c-control-plane:/etc/kwok/stages.yaml",
        "c-control-plane:/etc/systemd/system/kwok.service",
    }
    assert engine.calls[-1] == ("exec", "c-control-plane", "systemctl", "enable", "--now", "kwok")
    assert any(str(tmp_path / "kwok") in call for call in engine.calls)


def test_a_node_that_does_not_let_kwok_run_is_told_of() -> None:
    engine: Any = Engine(refuses="systemctl")
    with pytest.raises(ClusterError, match="journalctl -u kwok"):
        kwok.start(engine, "c-control-plane", lambda _: None)


def test_the_stages_lead_a_pod_through_its_life() -> None:
    stages = list(yaml.safe_load_all((Path(kwok.__file__).parent / "stages.yaml").read_text()))
    assert [stage["metadata"]["name"] for stage in stages] == ["node-ready", "pod-running", "pod-over", "pod-gone"]
    over = stages[2]["spec"]
    assert LASTS in over["delay"]["durationFrom"]["expressionFrom"]
    assert any(LASTS in expression["key"] for expression in over["selector"]["matchExpressions"])


def test_the_service_manages_the_nodes_with_the_label() -> None:
    unit = (Path(kwok.__file__).parent / "kwok.service").read_text()
    assert f"--manage-nodes-with-label-selector={kwok.SIMULATED_LABEL}=true" in unit
