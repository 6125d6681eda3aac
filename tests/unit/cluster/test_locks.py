"""Locks: the cluster together or alone, a waiting one before new ones; nodes alone; none outlives its holder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from fixtures.cluster.locks import alone, alone_at_last, shared, taken

LONG = 20.0
SHORT = 0.3
NODES = ["a", "b", "c"]
HOLD = """
import sys
from pathlib import Path
from fixtures.cluster.locks import {how}
with {how}(Path(sys.argv[1]){more}):
    print("held", flush=True)
    sys.stdin.read()
"""


class Holder:
    """A thread that holds something as soon as it can and gives it back when told to."""

    def __init__(self, hold: Callable[[], AbstractContextManager[object]]) -> None:
        self.holds, self._over = threading.Event(), threading.Event()
        self.got: object = None
        self._hold = hold
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with self._hold() as self.got:
            self.holds.set()
            self._over.wait(LONG)

    def gets_it(self) -> bool:
        return self.holds.wait(LONG)

    def waits(self) -> bool:
        return not self.holds.wait(SHORT)

    def give_back(self) -> None:
        self._over.set()
        self._thread.join(LONG)
        assert not self._thread.is_alive()


Start = Callable[[Callable[[], AbstractContextManager[object]]], Holder]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts holders; those still holding or waiting at the end let go."""
    made: list[Holder] = []

    def begin(hold: Callable[[], AbstractContextManager[object]]) -> Holder:
        made.append(Holder(hold))
        return made[-1]

    yield begin
    for holder in made:
        holder.give_back()


def test_many_share_the_cluster(tmp_path: Path, start: Start) -> None:
    assert all(start(lambda: shared(tmp_path)).gets_it() for _ in range(3))


def test_one_alone_waits_for_those_who_share_and_keeps_new_ones_out(tmp_path: Path, start: Start) -> None:
    reader = start(lambda: shared(tmp_path))
    assert reader.gets_it()
    writer = start(lambda: alone(tmp_path))
    assert writer.waits()
    late = start(lambda: shared(tmp_path))
    assert late.waits(), "one who came later went first"
    reader.give_back()
    assert writer.gets_it()
    assert late.waits(), "the cluster is shared while one has it alone"
    writer.give_back()
    assert late.gets_it()


def test_one_who_lets_others_go_first_has_it_alone_when_nobody_is_left(tmp_path: Path, start: Start) -> None:
    reader = start(lambda: shared(tmp_path))
    assert reader.gets_it()
    patient = start(lambda: alone_at_last(tmp_path))
    assert patient.waits()
    late = start(lambda: shared(tmp_path))
    assert late.gets_it(), "it made others wait"
    reader.give_back()
    assert patient.waits(), "it did not wait for who came later"
    late.give_back()
    assert patient.gets_it()
    assert start(lambda: shared(tmp_path)).waits()
    assert start(lambda: alone(tmp_path)).waits()


def test_nodes_are_taken_by_one_each(tmp_path: Path, start: Start) -> None:
    first, second, third = (start(lambda: taken(tmp_path, NODES, 1)) for _ in range(3))
    assert first.gets_it()
    assert second.gets_it()
    assert third.gets_it()
    assert sorted([*first.got, *second.got, *third.got]) == NODES  # type: ignore[misc]
    fourth = start(lambda: taken(tmp_path, NODES, 1))
    assert fourth.waits()
    free = second.got
    second.give_back()
    assert fourth.gets_it()
    assert fourth.got == free


def test_who_wants_two_nodes_gets_the_first_two_that_are_free(tmp_path: Path, start: Start) -> None:
    ones = [start(lambda: taken(tmp_path, NODES, 1)) for _ in range(2)]
    assert all(one.gets_it() for one in ones)
    pair = start(lambda: taken(tmp_path, NODES, 2))
    assert pair.waits()
    late = start(lambda: taken(tmp_path, NODES, 1))
    assert late.waits(), "one who came later went first"
    ones[1].give_back()
    assert pair.gets_it()
    assert late.waits()
    ones[0].give_back()
    assert late.gets_it()


def test_two_who_want_two_of_three_nodes_do_not_wait_for_each_other(tmp_path: Path, start: Start) -> None:
    pairs = [start(lambda: taken(tmp_path, NODES, 2)) for _ in range(4)]
    for _ in pairs:
        holding = next(pair for pair in pairs if pair.holds.wait(LONG))
        pairs = [pair for pair in pairs if pair is not holding]
        holding.give_back()


def test_clusters_have_leases_of_their_own(tmp_path: Path, start: Start) -> None:
    assert start(lambda: alone(tmp_path / "one")).gets_it()
    assert start(lambda: alone(tmp_path / "other")).gets_it()


@pytest.mark.parametrize(("how", "more"), [("alone", ""), ("shared", ""), ("taken", ", ['a'], 1")])
def test_a_lock_holds_between_processes_and_ends_with_its_holder(
    tmp_path: Path, start: Start, how: str, more: str
) -> None:
    command = [sys.executable, "-c", HOLD.format(how=how, more=more), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        mine = start(lambda: taken(tmp_path, ["a"], 1) if how == "taken" else alone(tmp_path))
        assert mine.waits()
        process.send_signal(signal.SIGKILL)
        assert mine.gets_it()
