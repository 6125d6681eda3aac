"""A practice that is kept."""

from __future__ import annotations

import fcntl

import pytest

from drivers.install import Instance
from fixtures.check.decorator import check
from fixtures.cluster.handle import ClusterHandle
from fixtures.cluster.nodes.quiet import TAKEN_LABEL, QuietNode
from fixtures.driver.check_run import CheckRun
from fixtures.run.news import tell
from fixtures.run.paths import RunPaths


@check("drain.order.kept", level="core", source="GP-6", hint="nothing to do")
def test_kept(paths: RunPaths) -> None:
    """It is kept."""
    tell(paths.news, "half of it is kept")
    tell(paths.news, "all of it is kept")


@check("drain.order.alone", level="core", source="GP-6", hint="nothing to do")
def test_alone(
    namespace: str,
    check_run: CheckRun,
    instance: Instance,
    cluster: ClusterHandle,
    workers: list[str],
    quiet_node: QuietNode,
) -> None:
    """It is kept, in a namespace of its own, on a node that it has for itself."""
    assert namespace == check_run.namespace == instance.namespace
    assert workers == [quiet_node.name] == ["node-2"]
    assert instance.node_selector.items() >= {TAKEN_LABEL: instance.id}.items()
    assert may(cluster, "cluster", fcntl.LOCK_SH)
    assert not may(cluster, "cluster", fcntl.LOCK_EX)
    assert not may(cluster, f"node/{quiet_node.name}", fcntl.LOCK_SH)


@check("drain.order.together", level="core", source="GP-6", hint="nothing to do")
@pytest.mark.usefixtures("_cluster_share")
def test_together(cluster: ClusterHandle, workers: list[str]) -> None:
    """It is kept, in a cluster that others may use but not disturb."""
    assert workers == ["node-1"]
    assert may(cluster, "cluster", fcntl.LOCK_SH)
    assert not may(cluster, "cluster", fcntl.LOCK_EX)


@check("drain.order.elsewhere", level="core", source="GP-6", hint="nothing to do", topology="skew")
def test_elsewhere() -> None:
    """It is kept, in a cluster of another shape."""


def may(cluster: ClusterHandle, thing: str, how: int) -> bool:
    """Whether somebody else would get a thing now."""
    with (cluster.state / "locks" / thing.replace("/", "_")).open("a") as lock:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
