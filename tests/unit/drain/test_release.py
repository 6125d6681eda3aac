"""Letting a driver go, and how to take that back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fixtures.drain.release import Label, Taint, parse_release

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]


def node(memory: Memory, *taints: Object, **labels: str) -> None:
    memory.put({"kind": "Node", "metadata": {"name": "n", "labels": labels}, "spec": {"taints": list(taints)}})


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("label:example.com/gpu=off", Label("example.com/gpu", "off")),
        ("label:gpu=", Label("gpu", "")),
        ("taint:maintenance=gpu:NoExecute", Taint("maintenance", "gpu", "NoExecute")),
        ("taint:maintenance=:NoSchedule", Taint("maintenance", "", "NoSchedule")),
    ],
)
def test_a_release_is_a_label_or_a_taint(text: str, parsed: Label | Taint) -> None:
    assert parse_release(text) == parsed


@pytest.mark.parametrize(
    "text", ["", "label:gpu", "label:=x", "label:a=b:NoExecute", "taint:a=b", "taint:a=b:No", "a=b"]
)
def test_anything_else_is_refused_with_the_two_forms(text: str) -> None:
    with pytest.raises(ValueError, match="neither label:KEY=VALUE nor taint:KEY=VALUE:EFFECT"):
        parse_release(text)


def test_a_label_is_set_and_the_way_back_is_told(memory: Memory) -> None:
    node(memory, gpu="true")
    assert Label("gpu", "off").apply(memory, "n") == "kubectl label node n --overwrite gpu=true"
    assert memory.get("Node", "n")["metadata"]["labels"] == {"gpu": "off"}
    assert Label("gpu", "off").apply(memory, "n") == "kubectl label node n --overwrite gpu=VALUE", "set before: unknown"
    assert Label("new", "x").apply(memory, "n") == "kubectl label node n new-"


def test_a_taint_replaces_its_like_and_leaves_others(memory: Memory) -> None:
    other = {"key": "other", "effect": "NoSchedule"}
    node(memory, other, {"key": "gpu", "value": "old", "effect": "NoExecute"})
    assert Taint("gpu", "new", "NoExecute").apply(memory, "n") == "kubectl taint node n gpu:NoExecute-"
    assert memory.get("Node", "n")["spec"]["taints"] == [other, {"key": "gpu", "value": "new", "effect": "NoExecute"}]
