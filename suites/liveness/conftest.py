"""The nouns that checks of the liveness practice ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from drivers.install import Instance
from fixtures.driver.driver import installed
from fixtures.driver.scene import Scene
from fixtures.kube.timeouts import Timeouts
from fixtures.liveness.service import OutsideDriver
from fixtures.options.options import Options


@pytest.fixture
def outside_driver(
    scene: Scene,
    namespace: str,  # noqa: ARG001 - it is there before the driver is
    instance: Instance,
    options: Options,
    workers: list[str],
    timeouts: Timeouts,
) -> Iterator[OutsideDriver]:
    """The driver under test as a systemd service of one node, serving, without a pod anywhere."""
    scene.driver = made = OutsideDriver(scene.kube, instance, workers[:1], scene.shells, timeouts, options.saboteur)
    with installed(made):
        yield made
