"""A practice that is kept."""

from __future__ import annotations

import fcntl

import pytest

from drivers.install import Instance
from fixtures.checks import check
from fixtures.cluster.handle import ClusterHandle
from fixtures.nodes import QuietNode
from fixtures.scene import Scene


@check("drain.order.kept", level="core", source="GP-6", hint="nothing to do")
def test_kept() -> None:
    """It is kept."""


@check("drain.order.alone", level="core", source="GP-6", hint="nothing to do")
def test_alone(
    namespace: str, scene: Scene, instance: Instance, cluster: ClusterHandle, workers: list[str], quiet_node: QuietNode
) -> None:
    """It is kept, in a namespace of its own, with a node that it has for itself for a while."""
    assert namespace == scene.namespace == instance.namespace
    assert workers == ["node-1", "node-2"]
    assert quiet_node.name in workers
    with quiet_node.alone() as node:
        assert node == quiet_node.name
        assert not may(cluster, f"node/{node}", fcntl.LOCK_SH)
        assert not may(cluster, "cluster", fcntl.LOCK_EX)
    for name in workers:
        assert not may(cluster, f"node/{name}", fcntl.LOCK_EX)


@check("drain.order.together", level="core", source="GP-6", hint="nothing to do")
@pytest.mark.usefixtures("node_shares")
def test_together(cluster: ClusterHandle, workers: list[str]) -> None:
    """It is kept, in a cluster and on nodes that others may use but not disturb."""
    for thing in ["cluster", *(f"node/{name}" for name in workers)]:
        assert may(cluster, thing, fcntl.LOCK_SH)
        assert not may(cluster, thing, fcntl.LOCK_EX)


def may(cluster: ClusterHandle, thing: str, how: int) -> bool:
    """Whether somebody else would get a thing now."""
    with (cluster.state / "leases" / thing.replace("/", "_")).open("a") as lock:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
