"""The nouns that checks of the liveness practice ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from drivers.install import Instance
from fixtures.driver.check_run import CheckRun
from fixtures.driver.serving import installed
from fixtures.kube.timeouts import Timeouts
from fixtures.liveness.service import OutsideDriver
from fixtures.options.options import Options


@pytest.fixture
def outside_driver(
    check_run: CheckRun,
    namespace: str,  # noqa: ARG001 - it is there before the driver is
    instance: Instance,
    options: Options,
    workers: list[str],
    timeouts: Timeouts,
) -> Iterator[OutsideDriver]:
    """The driver under test as a systemd service of one node, serving, without a pod anywhere."""
    check_run.driver = made = OutsideDriver(
        check_run.kube, instance, workers[:1], check_run.shells, timeouts, options.saboteur
    )
    with installed(made):
        yield made
