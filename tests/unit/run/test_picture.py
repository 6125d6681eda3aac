"""A check's timeline: bars without gaps for each object's life, marks for what was done and for warnings."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.cluster.handle import ClusterHandle
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.driver.serving import Disturbance
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts
from fixtures.recorder.facts import FACTS, Facts
from fixtures.recorder.reading import Recorder
from fixtures.recorder.seen import Seen
from fixtures.run import picture
from reports.timeline import Bar, Mark, Timeline, from_json

ORIGIN = 1000.0


def seen(
    at: float, kind: str = "Pod", change: str = "MODIFIED", name: str = "x", *, terminating: bool = False, **facts: Any
) -> Seen:
    if kind == "Event":
        facts = {"severity": "Warning", "reason": "FailedPrepareDynamicResources", "about": "Pod/x", **facts}
    made: Callable[..., Facts] = FACTS[kind]
    return Seen(ORIGIN + at, kind, change, "ns", name, f"uid-{name}", terminating, made(**facts))


def driver() -> Driver:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return Driver(Kube.__new__(Kube), instance, ["n"], {}, Timeouts())


def draw(*stretch: Seen, by: Driver | None = None) -> Timeline:
    return picture.draw(list(stretch), by, ORIGIN, "a check")


def test_the_life_of_a_pod_is_one_bar_per_state_each_where_the_last_ended() -> None:
    timeline = draw(
        seen(1, change="ADDED"),
        seen(2),
        seen(3, phase="Running"),
        seen(4, phase="Running", ready=True),
        seen(6, phase="Running", ready=True, terminating=True),
        seen(8, change="DELETED", phase="Running", terminating=True),
    )
    assert timeline.bars == (
        Bar("x", "Pending", 1, 3, "pod"),
        Bar("x", "Running", 3, 4, "pod"),
        Bar("x", "Ready", 4, 6, "pod"),
        Bar("x", "Terminating", 6, 8, "pod"),
    )
    assert (timeline.title, timeline.origin) == ("a check", ORIGIN)


def test_what_still_is_there_has_no_end() -> None:
    assert draw(seen(1), seen(2, phase="Running")).bars[-1] == Bar("x", "Running", 2, None, "pod")


def test_what_was_there_before_begins_at_the_origin() -> None:
    assert draw(seen(-5)).bars == (Bar("x", "Pending", 0, None, "pod"),)


def test_claims_and_slices_have_states_of_their_own() -> None:
    timeline = draw(
        seen(1, "ResourceClaim"),
        seen(2, "ResourceClaim", allocated=True),
        seen(3, "ResourceClaim", allocated=True, reserved=["u"]),
        seen(4, "ResourceSlice", name="s"),
        seen(5, "ResourceSlice", name="s", generation=2),
    )
    assert [(bar.kind, bar.label) for bar in timeline.bars] == [
        ("slice", "generation 1"),
        ("slice", "generation 2"),
        ("claim", "created"),
        ("claim", "allocated"),
        ("claim", "reserved"),
    ]


def test_pods_of_the_driver_are_told_from_other_pods() -> None:
    timeline = draw(
        seen(1, name="a", owner="driver-1a2b3c"), seen(1, name="b", owner="job"), seen(1, name="c"), by=driver()
    )
    assert {bar.lane: bar.kind for bar in timeline.bars} == {"a": "driver-pod", "b": "pod", "c": "pod"}


def test_without_a_driver_no_pod_is_one_of_its() -> None:
    assert draw(seen(1, owner=None)).bars[0].kind == "pod"


def test_objects_of_one_name_after_each_other_share_a_lane_not_a_life() -> None:
    first, second = seen(1), seen(2, change="DELETED")
    again = Seen(ORIGIN + 5, "Pod", "ADDED", "ns", "x", "uid-again", False, first.facts)
    assert draw(first, second, again).bars == (Bar("x", "Pending", 1, 2, "pod"), Bar("x", "Pending", 5, None, "pod"))


def test_what_was_done_is_marked_across_and_warnings_in_their_lane() -> None:
    by = driver()
    by.disturbances.append(Disturbance(ORIGIN + 2, "driver stopped"))
    timeline = draw(
        seen(3, "Event", "ADDED"),
        seen(4, "Event", "MODIFIED"),
        seen(5, "Event", "ADDED", severity="Normal"),
        seen(6, "Event", "ADDED", reason="SomethingElse"),
        by=by,
    )
    assert timeline.marks == (
        Mark(None, 2, "driver stopped", severe=False),
        Mark("x", 3, "FailedPrepareDynamicResources", severe=True),
    )


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happened_the_bars_of_a_life_have_neither_gap_nor_overlap(seed: int) -> None:
    dice = random.Random(seed)
    stretch = []
    for at in range(-3, 100):
        kind = dice.choice(["Pod", "ResourceClaim", "ResourceSlice", "Node", "Namespace"])
        of_kind: dict[str, dict[str, Any]] = {
            "Pod": {"phase": dice.choice(["Pending", "Running"]), "ready": dice.random() < 0.5},
            "ResourceClaim": {"allocated": dice.random() < 0.5},
            "ResourceSlice": {"generation": dice.randrange(3)},
        }
        change = "DELETED" if dice.random() < 0.1 else "MODIFIED"
        terminating = dice.random() < 0.2
        stretch.append(
            seen(at, kind, change, f"{kind}-{dice.randrange(3)}", terminating=terminating, **of_kind.get(kind, {}))
        )
    lanes: dict[str, list[Bar]] = {}
    for bar in draw(*stretch).bars:
        lanes.setdefault(bar.lane, []).append(bar)
    gone = {s.name: [t.at - ORIGIN for t in stretch if t.name == s.name and t.change == "DELETED"] for s in stretch}
    for lane, bars in lanes.items():
        for bar, following in itertools.pairwise(bars):
            assert bar.end is not None
            assert bar.start <= bar.end <= following.start
            assert bar.end == following.start or bar.end in gone[lane]
            assert bar.label != following.label or bar.end in gone[lane]


def check_run(tmp_path: Path, namespace: str | None) -> CheckRun:
    handle = ClusterHandle(
        "standard", "c", Path("k"), "1.37.2", (), frozenset(), Path("kubectl"), Path("docker"), tmp_path
    )
    kube = Kube.__new__(Kube)
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "events.jsonl").touch()
    return CheckRun(handle, kube, Recorder(tmp_path, kube), {}, namespace)


def test_a_picture_is_kept_as_record_timeline_and_text(tmp_path: Path) -> None:
    of = check_run(tmp_path, "ns")
    made = Seen(of.recorder.started + 1, "Pod", "ADDED", "ns", "x", "u", terminating=False, facts=FACTS["Pod"]())
    (tmp_path / "recorder" / "events.jsonl").write_text(made.to_json() + "\n")
    picture.keep(of, tmp_path, "a check", failed=False)
    assert Seen.from_json((tmp_path / "record.jsonl").read_text()) == made
    timeline = from_json((tmp_path / picture.FILE).read_text())
    assert [(bar.lane, bar.label) for bar in timeline.bars] == [("x", "Pending")]
    assert "a check" in (tmp_path / "timeline.txt").read_text()


def test_the_picture_of_a_failed_check_ends_where_it_failed(tmp_path: Path) -> None:
    of = check_run(tmp_path, "ns")
    picture.keep(of, tmp_path, "a check", failed=True)
    (end,) = from_json((tmp_path / picture.FILE).read_text()).marks
    assert (end.lane, end.label, end.severe) == (None, "the check failed", True)
    assert 0 <= end.at < 60


def test_a_check_without_a_namespace_has_no_picture(tmp_path: Path) -> None:
    picture.keep(check_run(tmp_path, None), tmp_path, "a check", failed=False)
    assert not list(tmp_path.glob("*.*"))


def test_a_check_that_saw_nothing_has_an_empty_picture(tmp_path: Path) -> None:
    picture.keep(check_run(tmp_path, "ns"), tmp_path, "a check", failed=False)
    assert from_json((tmp_path / picture.FILE).read_text()).bars == ()


def test_a_registration_is_known_by_its_node_and_socket() -> None:
    facts: dict[str, Any] = {"node": "node-1", "socket": "d-reg.sock"}
    timeline = draw(
        seen(3, "Registration", name="d-reg.sock", **facts),
        seen(7, "Registration", "DELETED", name="d-reg.sock", **facts),
    )
    (bar,) = timeline.bars
    assert (bar.kind, bar.lane, bar.label) == ("registration", "node-1: d-reg.sock", "registered")
    assert (bar.start, bar.end) == (3, 7)
