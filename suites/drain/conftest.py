"""The nouns that checks of the drain practice ask for."""

from __future__ import annotations

import pytest

from fixtures.cluster.handle import ClusterHandle
from fixtures.drain_checks.ways import Drains
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts
from fixtures.options.options import Options


@pytest.fixture
def drains(kube: Kube, cluster: ClusterHandle, timeouts: Timeouts, options: Options) -> Drains:
    """How nodes are drained."""
    return Drains(kube, cluster, timeouts, options.drain_command)
