"""A practice that is kept."""

from __future__ import annotations

import fcntl

import pytest

from drivers.install import Instance
from fixtures.checks import check
from fixtures.cluster.handle import ClusterHandle
from fixtures.scene import Scene


@check("drain.order.kept", level="core", source="GP-6", hint="nothing to do")
def test_kept() -> None:
    """It is kept."""


@check("drain.order.alone", level="core", source="GP-6", hint="nothing to do")
def test_alone(
    namespace: str, scene: Scene, instance: Instance, cluster: ClusterHandle, workers: list[str], quiet_node: str
) -> None:
    """It is kept, in a namespace of its own, on a node of its own."""
    assert namespace == scene.namespace == instance.namespace
    assert workers == ["node-1", "node-2"]
    assert {node: may(cluster, node, fcntl.LOCK_SH) for node in workers} == {n: n != quiet_node for n in workers}


@check("drain.order.together", level="core", source="GP-6", hint="nothing to do")
@pytest.mark.usefixtures("_leases")
def test_together(cluster: ClusterHandle, workers: list[str]) -> None:
    """It is kept, on nodes that others may use but not disturb."""
    for node in workers:
        assert may(cluster, node, fcntl.LOCK_SH)
        assert not may(cluster, node, fcntl.LOCK_EX)


def may(cluster: ClusterHandle, node: str, how: int) -> bool:
    """Whether somebody else would get a node now."""
    with (cluster.state / "leases" / f"node_{node}").open("a") as lock:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
