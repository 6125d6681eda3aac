"""Which nodes of somebody else's cluster the driver is for, and which of them cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.cluster.errors import ClusterError
from fixtures.cluster.existing.selected import nodes_of
from fixtures.cluster.handle import ClusterHandle, Node

Object = dict[str, Any]
GPU = {"gpu": "true"}
CONTROL = {"node-role.kubernetes.io/control-plane": ""}


def node(name: str, labels: dict[str, str] | None = None, *taints: str, ready: bool = True, **spec: Any) -> Object:
    split = (taint.rpartition(":") for taint in taints)
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": [{"key": key, "effect": effect} for key, _, effect in split], **spec},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "addresses": [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "10.0.0.1"}],
        },
    }


def roles(items: list[Object], selector: dict[str, str]) -> dict[str, str]:
    return {found.name: found.role for found in nodes_of(items, selector)}


def test_workers_are_those_that_the_driver_selects() -> None:
    items = [node("b", GPU), node("c"), node("a", CONTROL), node("d", GPU | CONTROL)]
    assert roles(items, GPU) == {"a": "control-plane", "b": "worker", "c": "other", "d": "worker"}
    assert nodes_of(items, GPU)[1] == Node("b", "worker", "10.0.0.1")


def test_without_a_selector_all_but_the_control_plane_are_workers() -> None:
    assert roles([node("a", CONTROL), node("b"), node("c", GPU)], {}) == {
        "a": "control-plane",
        "b": "worker",
        "c": "worker",
    }


def test_lasting_taints_are_tolerated_by_pods(tmp_path: Any) -> None:
    items = [node("a", GPU, "nvidia.com/gpu:NoSchedule", "soft:PreferNoSchedule"), node("b", None, "db:NoExecute")]
    nodes = nodes_of(items, GPU)
    assert nodes[0].taints == ("nvidia.com/gpu:NoSchedule",)
    handle = ClusterHandle("standard", "c", tmp_path, "1.37.2", nodes, frozenset(), None, None, tmp_path)
    assert handle.tolerations == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert ClusterHandle.from_json(handle.to_json()) == handle


@pytest.mark.parametrize(
    ("item", "trouble"),
    [
        (node("b", GPU, unschedulable=True), "b (cordoned)"),
        (node("b", GPU, ready=False), "b (not Ready)"),
        (node("b", GPU) | {"status": {}}, "b (not Ready)"),
        (node("b", GPU, "node.kubernetes.io/disk-pressure:NoSchedule"), "b (tainted node.kubernetes.io/disk-pressure)"),
    ],
)
def test_a_node_that_cannot_take_pods_is_told(item: Object, trouble: str) -> None:
    with pytest.raises(ClusterError) as caught:
        nodes_of([node("a", GPU), item], GPU)
    assert caught.value.problem == f"Nodes that are for the driver cannot take pods: {trouble}."
    assert "uncordon" in caught.value.remedy


def test_trouble_of_other_nodes_is_not_ours() -> None:
    assert roles([node("a", GPU), node("b", ready=False), node("c", unschedulable=True)], GPU)["a"] == "worker"


def test_a_cluster_without_a_node_for_the_driver_is_told_how_to_choose_some() -> None:
    with pytest.raises(ClusterError) as caught:
        nodes_of([node("a")], {"gpu": "true", "zone": "x"})
    assert "none has the label gpu=true,zone=x" in caught.value.problem
    assert "`kubectl label node NAME gpu=true zone=x`" in caught.value.remedy
    with pytest.raises(ClusterError, match="no node besides its control plane"):
        nodes_of([node("a", CONTROL)], {})
