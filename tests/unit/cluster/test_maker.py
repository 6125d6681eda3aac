"""Which image and kubelet each node of a topology gets."""

from pathlib import Path

import pytest

from fixtures.cluster.kind import maker
from fixtures.cluster.kind.config import NodeSpec
from fixtures.cluster.kind.records import Owner
from fixtures.cluster.kind.topology import SCALE, SKEW, STANDARD, ClusterSettings, Topology
from fixtures.cluster.node_image.choice import NodeImage

IMAGE = NodeImage("node:1", "1.35.4", "sha256:1", Path("/kind"), Path("/kubectl"), False)


def plan(shape: Topology) -> list[NodeSpec]:
    made = maker.KindMaker(ClusterSettings("1.35.4", "auto"), Owner.current(), lambda _: None)
    return made._node_specs(shape, IMAGE, None)  # type: ignore[arg-type]


def test_nodes_of_a_standard_cluster_are_alike() -> None:
    assert plan(STANDARD) == [NodeSpec(role, "node:1", "1.35.4") for role in STANDARD.roles]


def test_last_node_of_a_mixed_cluster_has_the_old_kubelet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maker, "with_kubelet", lambda image, version, *_: f"{image.reference}-kubelet-{version}")
    *others, last = plan(SKEW)
    assert others == [NodeSpec("control-plane", "node:1", "1.35.4"), NodeSpec("worker", "node:1", "1.35.4")]
    assert last == NodeSpec("worker", "node:1-kubelet-1.32.13", "1.32.13")


def test_what_can_be_done_depends_on_the_shape() -> None:
    assert maker.capabilities_of(STANDARD) == maker.CAPABILITIES
    assert maker.capabilities_of(SKEW) - maker.CAPABILITIES == {"old-kubelet"}
    assert maker.capabilities_of(SCALE) - maker.CAPABILITIES == {"simulated-nodes"}
