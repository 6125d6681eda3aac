"""Reading pools out of slices: completeness, devices that exist twice, counting."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.driver import pools

Object = dict[str, Any]


def piece(
    node: str | None = "a", *devices: str, pool: str | None = None, generation: int = 1, count: int = 1
) -> Object:
    name = pool or node
    spec: Object = {"pool": {"name": name, "generation": generation, "resourceSliceCount": count}}
    if node:
        spec["nodeName"] = node
    if devices:
        spec["devices"] = [{"name": device} for device in devices]
    return {"spec": spec}


def test_a_pool_is_known_by_node_and_name() -> None:
    first, second, third = piece("a"), piece("b", pool="a"), piece("a", count=2)
    assert pools.by_pool([first, second, third]) == {("a", "a"): [first, third], ("b", "a"): [second]}


def test_pools_with_one_generation_and_the_right_number_of_slices_are_complete() -> None:
    slices = [piece("a", count=2), piece("a", count=2), piece("b", generation=7)]
    assert pools.incomplete(slices, ["a", "b"]) == []


@pytest.mark.parametrize(
    ("slices", "problem"),
    [
        ([], "a has no slice"),
        ([piece("b")], "a has no slice"),
        ([piece("a", count=2)], "pool a on a has 1 slices and says [2]"),
        ([piece("a"), piece("a")], "pool a on a has 2 slices and says [1]"),
        ([piece("a", count=1), piece("a", count=2)], "pool a on a has 2 slices and says [1, 2]"),
        ([piece("a", generation=3), piece("a", generation=4)], "pool a on a has slices of generations [3, 4]"),
    ],
)
def test_an_incomplete_pool_is_told_with_what_is_wrong(slices: list[Object], problem: str) -> None:
    assert pools.incomplete(slices, ["a"]) == [problem]


def test_slices_of_a_node_that_was_not_asked_for_are_judged_too() -> None:
    assert pools.incomplete([piece("a"), piece("b", count=3)], ["a"]) == ["pool b on b has 1 slices and says [3]"]


def test_pools_of_their_own_share_nothing() -> None:
    assert pools.shared_between_nodes([piece("a", "x", "y"), piece("b", "x", "y"), piece("b", "z", count=2)]) == []


def test_a_pool_on_two_nodes_is_found_with_its_devices() -> None:
    slices = [piece("b", "x", "y", pool="p"), piece("a", "x", "y", pool="p")]
    assert pools.shared_between_nodes(slices) == [
        "pool p is on a, b",
        "2 device ids exist more than once, such as p/x",
    ]


def test_a_device_that_a_pool_has_twice_is_found() -> None:
    slices = [piece("a", "x", count=2), piece("a", "x", count=2)]
    assert pools.shared_between_nodes(slices) == ["1 device ids exist more than once, such as a/x"]


def test_devices_are_counted_per_node_in_the_newest_generation() -> None:
    slices = [
        piece("a", "old-1", "old-2", "old-3", generation=1),
        piece("a", "x", "y", generation=2),
        piece("a", "z", generation=2),
        piece("a", "w", pool="second", generation=1),
        piece("b", "x"),
        piece("a", pool="empty"),
    ]
    assert [pools.device_count(slices, node) for node in ("a", "b", "c")] == [4, 1, 0]
