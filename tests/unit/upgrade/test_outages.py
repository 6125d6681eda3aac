"""The sweep across the withdrawal of slices: what is told of each gap, and what is wrong with one."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import LEAVES, Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.recorder.facts import RegistrationFacts
from fixtures.recorder.invariants import Violation
from fixtures.recorder.seen import Seen
from fixtures.upgrade import outages
from fixtures.upgrade.outages import Outage, sweep

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
NODES = ["node-1", "node-2"]


def made(memory: Memory, id: str) -> Driver:  # noqa: A002
    instance = Instance(load("fake"), id=id, run="run-1", version="1.0.0", node_selector={})
    driver = Driver(memory, instance, NODES, {}, Timeouts())
    for node in NODES:
        memory.put(piece(driver, node))
    return driver


def piece(driver: Driver, node: str, *devices: str, pool: str | None = None) -> Object:
    spec = {
        "driver": driver.name,
        "nodeName": node,
        "pool": {"name": pool or node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": name} for name in devices or ("x", "y")],
    }
    return {"kind": "ResourceSlice", "metadata": {"name": f"{driver.name}-{node}"}, "spec": spec}


class Stage:
    """A check run without a cluster, in which drivers leave and come back at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.notes: list[str] = []
        self.violations: list[Violation] = []
        self.returns: Callable[[Driver], object] = lambda _: None
        self.away = dict.fromkeys(NODES, 1.0)
        self.left = 0.0
        recorder = SimpleNamespace(
            violations=lambda _, name: [v for v in self.violations if name in v.drivers], stretch=self._stretch
        )
        self.check_run = cast("CheckRun", SimpleNamespace(note=self.notes.append, recorder=recorder))
        monkeypatch.setattr(outages, "SETTLED", -1)
        monkeypatch.setattr(outages, "vanish", self._vanish)
        monkeypatch.setattr(Driver, "start", lambda driver: self._start(driver))  # noqa: PLW0108 - to be bound
        monkeypatch.setattr(outages, "_run_a_pod", lambda driver: self.notes.append(f"pod of {driver.name}"))

    def _stretch(self, _: str, driver: str) -> list[Seen]:
        def registered(at: float, node: str) -> Seen:
            return Seen(at, "Registration", "ADDED", None, driver, node, False, RegistrationFacts(node))

        now = time.time()
        first = [registered(self.left, node) for node in NODES]
        return [*first, *(registered(now + at, node) for node, at in self.away.items())]

    def _vanish(self, driver: Driver, _: str) -> None:
        """It leaves; that it was registered is seen only now."""
        driver.mark(LEAVES)
        self.left = time.time()

    def _start(self, driver: Driver) -> None:
        self.returns(driver)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def test_drivers_whose_slices_stay_or_come_back_are_told(stage: Stage, memory: Memory) -> None:
    drivers = [made(memory, "aaa"), made(memory, "bbb")]
    sweep(stage.check_run, drivers, [-1, -1])
    assert sorted(stage.notes)[:2] == ["pod of d-aaa.fake.dra", "pod of d-bbb.fake.dra"]
    told = "1 s (stayed), 1 s (stayed)"
    ways = "after its crash and after a clean stop"
    assert stage.notes[-1] == f"seen registered again {ways}, counted from its end (and its slices): {told}; {told}"


def test_a_gap_tells_when_each_nodes_slices_went(memory: Memory) -> None:
    outage = Outage(made(memory, "aaa"), {"node-2": 33.4}, {"node-2": 29.6}, ())
    assert str(outage) == "for good (stayed), 33 s (gone after 30 s)"


def test_slices_that_go_in_a_short_gap_are_wrong(stage: Stage, memory: Memory) -> None:
    driver = made(memory, "aaa")
    memory.drop("ResourceSlice", f"{driver.name}-node-2")
    stage.returns = lambda driver: memory.put(piece(driver, "node-2"))
    with pytest.raises(
        CheckFailed, match=r"slices of node-2 gone after 0\.\d s, the driver was away for 1\.\d s"
    ) as failure:
        sweep(stage.check_run, [driver], [-1])
    assert "node-1" not in failure.value.observed


def test_slices_may_go_when_the_driver_was_away_for_longer(stage: Stage, memory: Memory) -> None:
    driver = made(memory, "aaa")
    memory.drop("ResourceSlice", f"{driver.name}-node-2")
    stage.away["node-2"] = 29
    stage.returns = lambda driver: memory.put(piece(driver, "node-2"))
    with pytest.raises(CheckFailed, match="node-2 advertises 2 devices, before it were 0") as failure:
        sweep(stage.check_run, [driver], [-1])
    assert "gone" not in failure.value.observed


@pytest.mark.parametrize(
    ("back", "told"),
    [
        (lambda m, d: m.drop("ResourceSlice", f"{d.name}-node-1"), "node-1 has no slice"),
        (lambda m, d: m.put(piece(d, "node-1", "x")), "node-1 advertises 1 devices, before it were 2"),
        (lambda m, d: m.put(piece(d, "node-1", pool="p")), r"new pools \[\('node-1', 'p'\)\]"),
    ],
    ids=["none", "smaller", "other pool"],
)
def test_slices_that_do_not_come_back_as_they_were_are_wrong(
    stage: Stage, memory: Memory, back: Callable[[Memory, Driver], object], told: str
) -> None:
    well, ill = made(memory, "aaa"), made(memory, "bbb")
    stage.returns = lambda driver: back(memory, driver) if driver is ill else None
    with pytest.raises(CheckFailed, match=told):
        sweep(stage.check_run, [well, ill], [-1, -1])
    assert (stage.check_run.driver, stage.check_run.namespace) == (ill, "dra-bbb"), (
        "the snapshot is that of the driver concerned"
    )
    assert not any("pod of d-bbb" in note for note in stage.notes)


def test_a_driver_that_does_not_come_back_is_wrong(stage: Stage, memory: Memory) -> None:
    def never(_: Driver) -> None:
        raise CheckFailed("all driver pods Ready", "none is")

    stage.returns = never
    with pytest.raises(CheckFailed, match="expected all driver pods Ready, observed none is"):
        sweep(stage.check_run, [made(memory, "aaa")], [-1])


def test_slices_that_are_not_withdrawn_in_a_long_gap_are_wrong(
    stage: Stage, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "WITHDRAWN", -2)
    driver = made(memory, "aaa")
    driver.timeouts = Timeouts(1, {"slices_withdrawn": 1e-9})
    with pytest.raises(CheckFailed, match="expected slices of d-aaa"):
        sweep(stage.check_run, [driver], [-1])


def test_what_the_recorder_saw_broken_of_a_sibling_is_wrong(stage: Stage, memory: Memory) -> None:
    stage.violations = [Violation(1, None, ("d-bbb.fake.dra",), "pool node-1 went back")]
    with pytest.raises(CheckFailed, match="pool node-1 went back"):
        sweep(stage.check_run, [made(memory, "aaa"), made(memory, "bbb")], [-1, -1])
