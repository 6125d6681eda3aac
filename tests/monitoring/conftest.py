"""promtool, built like the tools of the nodes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.cluster.node_image.golang import GoCommands
from fixtures.cluster.node_image.workshop import Workshop, building_alone

PROMTOOL = GoCommands("promtool", "github.com/prometheus/prometheus", "0.316.0", ("cmd/promtool",))

Promtool = Callable[..., str]


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    with building_alone("promtool", print):
        binary = Workshop(print, steps=1).go(PROMTOOL) / "promtool"

    def run(*words: str | Path) -> str:
        done = subprocess.run([binary, *words], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
