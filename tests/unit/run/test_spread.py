"""Checks that come first in the plan come first in what each worker of a parallel run gets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

from fixtures.run.worker import spread, takes
from suites.drain import test_wrong_order
from suites.liveness import test_restart
from suites.upgrade import test_downtime, test_seamless, test_skew


class Node:
    """A worker of xdist that keeps what it is sent."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.got: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.got += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def item_of(test: Any) -> Any:
    """What pytest makes of a check, as far as it matters here."""
    return SimpleNamespace(get_closest_marker=lambda name: next(m for m in test.pytestmark if m.name == name))


def handed_out(items: list[str], workers: int) -> list[list[str]]:
    """What each worker gets of a list by xdist's own scheduler."""
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen"] * workers)
    scheduler = WorkStealingScheduling(config)
    nodes: Any = [Node(number) for number in range(workers)]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, items)
    scheduler.schedule()
    return [[items[index] for index in node.got] for node in nodes]


@pytest.mark.parametrize("workers", range(1, 7))
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 30, 31])
def test_each_worker_begins_with_what_comes_first(count: int, workers: int) -> None:
    items = [f"{number:02}" for number in range(count)]
    planned = spread([], items, workers, lanes=3)
    assert sorted(planned) == items
    if count >= workers:
        got = handed_out(planned, workers)
        assert sorted(part[0] for part in got) == items[:workers]
        assert all(part == sorted(part) for part in got)


def test_a_run_by_itself_keeps_the_order() -> None:
    assert spread(["c"], ["a", "b"], 1, lanes=3) == ["c", "a", "b"]


def test_takers_run_one_after_the_other_on_as_many_workers_as_there_are_lanes() -> None:
    takers, others = [f"t{number}" for number in range(6)], [f"o{number:02}" for number in range(26)]
    got = handed_out(spread(takers, others, 8, lanes=3), 8)
    assert [[name for name in part if name in takers] for part in got[:3]] == [["t0", "t3"], ["t1", "t4"], ["t2", "t5"]]
    assert all(part[:2] == [name for name in part if name in takers] for part in got[:3])
    assert not [name for part in got[3:] for name in part if name in takers]


ALIKE = {"wrong order": 1, "hung": 1, "cleanup": 2, "overlap": 0, "old kubelet": 0}


@pytest.mark.parametrize(
    ("facts", "more", "expected"),
    [
        ({"shared": True, "node_selector": {"a": "b"}}, {}, ALIKE),
        ({"shared": True, "node_selector": {}}, {}, ALIKE | {"cleanup": 0}),
        ({"shared": True, "node_selector": {"a": "b"}}, {"cluster": "existing"}, ALIKE | {"hung": 0, "cleanup": 0}),
        ({"shared": False, "node_selector": {"a": "b"}}, {}, ALIKE | {"hung": 0, "cleanup": 0}),
    ],
)
def test_who_disturbs_what_all_share_takes_nodes(facts: dict[str, Any], more: Any, expected: dict[str, int]) -> None:
    tests = {
        "wrong order": test_wrong_order.test_stuck_then_heals,
        "hung": test_restart.test_hung,
        "cleanup": test_downtime.test_cleanup_delayed,
        "overlap": test_seamless.test_overlap,
        "old kubelet": test_skew.test_old_kubelet,
    }
    options: Any = SimpleNamespace(driver=SimpleNamespace(**facts), **{"cluster": "kind", **more})
    assert {name: takes(item_of(test), options) for name, test in tests.items()} == expected
