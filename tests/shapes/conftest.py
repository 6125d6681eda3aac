"""The shapes with the driver's code in them, what renders packages, and runs of the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.loading import load
from fixtures.cluster.node_image.workshop import building_alone
from fixtures.cluster.tools import provide
from tests.runs import Suite
from tests.shapes.layout import lay_out


@pytest.fixture(scope="session")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The usable manifest of each shape by its name."""
    return lay_out(tmp_path_factory.mktemp("shapes") / "all")


@pytest.fixture(scope="session")
def tools(manifests: dict[str, Path]) -> None:
    """helm and kustomize are on PATH: built, if they are not there."""
    with building_alone("shapes", print):
        for manifest in manifests.values():
            provide(load(str(manifest)), print)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path / "out", ("-n8", "--dist=worksteal", "--dra-practice=driver,upgrade,liveness,drain"))
