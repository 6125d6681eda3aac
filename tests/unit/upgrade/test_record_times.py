"""Times read from the record: when pods ended and became Ready, and how long a node had no driver or no slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drivers.install import Instance
from drivers.loading import load
from fixtures.driver.driver import Driver
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts
from fixtures.recorder.facts import Facts, PodFacts, SliceFacts
from fixtures.recorder.seen import Seen
from fixtures.upgrade.record_times import RecordTimes, without_driver, without_slices

Object = dict[str, Any]


_TYPES: dict[str, Callable[..., Facts]] = {"Pod": PodFacts, "ResourceSlice": SliceFacts}


def seen(
    at: float, name: str, change: str = "MODIFIED", *, kind: str = "Pod", leaving: bool = False, **facts: Any
) -> Seen:
    return Seen(at, kind, change, "space", name, f"uid-{name}", leaving, _TYPES[kind](**facts))


def driver_pod(at: float, name: str, *, ready: bool = True, leaving: bool = False, change: str = "MODIFIED") -> Seen:
    return seen(at, name, change, leaving=leaving, ready=ready, owner="driver-1a2b3c", node="node-1")


def away(*stretch: Seen) -> float:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return without_driver(stretch, Driver(Kube.__new__(Kube), instance, ["node-1"], {}, Timeouts()), "node-1")


def test_pods_are_gone_with_the_last_of_them() -> None:
    stretch = [seen(101, "a", "DELETED"), seen(102, "b"), seen(104, "b", "DELETED"), seen(109, "other", "DELETED")]
    assert RecordTimes(stretch, 100).gone("a", "b") == 4


def test_pods_are_ready_when_the_last_of_them_is_for_the_first_time() -> None:
    stretch = [
        seen(101, "a", ready=True),
        seen(102, "b", ready=False),
        seen(103, "b", ready=True),
        seen(108, "a", ready=True),
        seen(109, "b", "DELETED", ready=True),
        seen(109, "other", ready=True),
    ]
    assert RecordTimes(stretch, 100).ready("a", "b") == 3


def test_versions_that_overlap_leave_no_gap() -> None:
    assert away(driver_pod(1, "old"), driver_pod(5, "new"), driver_pod(6, "old", leaving=True)) == 0


def test_a_gap_lasts_from_the_end_of_the_old_pod_to_the_readiness_of_the_new_one() -> None:
    outage = (
        driver_pod(0, "old", ready=False),
        driver_pod(1, "old"),
        driver_pod(5, "old", leaving=True),
        driver_pod(6, "old", leaving=True, change="DELETED"),
        driver_pod(7, "new", ready=False),
        driver_pod(8.5, "new"),
    )
    assert away(*outage) == 3.5
    assert away(*outage, driver_pod(10, "new", ready=False), driver_pod(11, "new")) == 4.5


def test_pods_of_others_and_on_other_nodes_do_not_count() -> None:
    elsewhere = seen(6, "elsewhere", ready=True, owner="driver-1a2b3c", node="node-2")
    workload = seen(6, "workload", ready=True, owner="job", node="node-1")
    lost = [driver_pod(1, "old"), driver_pod(5, "old", leaving=True), elsewhere, workload, driver_pod(9, "new")]
    assert away(*lost) == 4


def test_a_driver_that_never_came_back_is_not_counted() -> None:
    assert away(driver_pod(1, "old"), driver_pod(5, "old", leaving=True)) == 0


def test_slices_that_come_before_others_go_leave_no_gap() -> None:
    def piece(at: float, name: str, change: str, node: str = "node-1") -> Seen:
        return seen(at, name, change, kind="ResourceSlice", node=node)

    first, gone, again = piece(1, "s", "ADDED"), piece(5, "s", "DELETED"), piece(7, "t", "ADDED")
    assert without_slices([first, gone, again, piece(9, "x", "DELETED", "node-2")], "node-1") == 2
    assert without_slices([first, piece(4, "t", "ADDED"), gone], "node-1") == 0
