"""The shapes with the driver's code in them, and the tools that render packages where they are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import Suite
from tests.shapes.layout import lay_out


@pytest.fixture(scope="session")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The usable manifest of each shape by its name."""
    return lay_out(tmp_path_factory.mktemp("shapes") / "all")


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path / "out", ("-n8", "--dist=worksteal", "--dra-practice=driver,upgrade,liveness,drain"))
