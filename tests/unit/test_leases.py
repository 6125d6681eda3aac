"""Leases: readers together, a writer alone, a waiting writer before new readers, and none outlives its holder."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from fixtures.leases import alone, shared

LONG = 20.0
HOLD = """
import sys
from pathlib import Path
from fixtures.leases import Lease
held = Lease(Path(sys.argv[1]), "node/a")
getattr(held, sys.argv[2])()
print("held", flush=True)
sys.stdin.read()
"""
BOTH = ["node/a", "node/b"]


class Holder:
    """A thread that holds something as soon as it can and gives it back when told to."""

    def __init__(self, hold: Callable[[], AbstractContextManager[object]]) -> None:
        self.waits, self.holds, self._over = threading.Event(), threading.Event(), threading.Event()
        self._hold = hold
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self.waits.wait(LONG)

    def _run(self) -> None:
        self.waits.set()
        with self._hold():
            self.holds.set()
            self._over.wait(LONG)

    def give_back(self) -> None:
        self._over.set()
        self._thread.join(LONG)
        assert not self._thread.is_alive()


@pytest.fixture
def holders() -> Iterator[list[Holder]]:
    """Those still holding or waiting at the end let go, in the order in which they came."""
    made: list[Holder] = []
    yield made
    for holder in made:
        holder.give_back()


@contextmanager
def another_process(state: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds `node/a` until its standard input ends."""
    command = [sys.executable, "-c", HOLD, str(state), how]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def gets(state: Path, file: str, how: int) -> bool:
    """Whether somebody else would get a file of a lease now."""
    with (state / "leases" / file).open("a") as lock:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def held(state: Path) -> dict[str, str]:
    """How each thing is held now."""
    files = [file.name for file in (state / "leases").iterdir() if file.suffix != ".gate"]
    ways = {(True, True): "free", (True, False): "together", (False, False): "alone"}
    return {file: ways[gets(state, file, fcntl.LOCK_SH), gets(state, file, fcntl.LOCK_EX)] for file in sorted(files)}


def is_waiting(state: Path, thing: str) -> bool:
    """Whether somebody holds the gate of a thing: a writer that waits, or one at work."""
    return not gets(state, f"{thing.replace('/', '_')}.gate", fcntl.LOCK_EX)


def test_readers_hold_a_thing_together(tmp_path: Path, holders: list[Holder]) -> None:
    for _ in range(3):
        holders.append(Holder(lambda: shared(tmp_path, ["node/a"])))
    assert all(holder.holds.wait(LONG) for holder in holders)


def test_a_writer_waits_for_all_readers_and_is_then_alone(tmp_path: Path, holders: list[Holder]) -> None:
    readers = [Holder(lambda: shared(tmp_path, ["node/a"])) for _ in range(2)]
    assert all(reader.holds.wait(LONG) for reader in readers)
    holders.append(writer := Holder(lambda: alone(tmp_path, "node/a")))
    _until(lambda: is_waiting(tmp_path, "node/a"))
    readers[0].give_back()
    assert not writer.holds.is_set()
    readers[1].give_back()
    assert writer.holds.wait(LONG)


def test_a_waiting_writer_goes_before_new_readers(tmp_path: Path, holders: list[Holder]) -> None:
    reader = Holder(lambda: shared(tmp_path, ["node/a"]))
    assert reader.holds.wait(LONG)
    writer = Holder(lambda: alone(tmp_path, "node/a"))
    _until(lambda: is_waiting(tmp_path, "node/a"))
    holders.append(late := Holder(lambda: shared(tmp_path, ["node/a"])))
    reader.give_back()
    assert writer.holds.wait(LONG)
    assert not late.holds.is_set()
    writer.give_back()
    assert late.holds.wait(LONG)


def test_writers_take_turns(tmp_path: Path) -> None:
    inside = 0
    most = 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with alone(tmp_path, "node/a"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    _all_end([work] * 4)
    assert (inside, most) == (0, 1)


def test_leases_of_different_things_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with alone(tmp_path, "node/a"), alone(tmp_path, "node/b"), shared(tmp_path, ["cluster"]):
        assert held(tmp_path) == {"cluster": "together", "node_a": "alone", "node_b": "alone"}


def test_a_lease_holds_between_processes(tmp_path: Path, holders: list[Holder]) -> None:
    with another_process(tmp_path, "take") as other:
        holders.append(reader := Holder(lambda: shared(tmp_path, ["node/a"])))
        assert not reader.holds.is_set()
        assert other.stdin is not None
        other.stdin.close()
        assert reader.holds.wait(LONG)


@pytest.mark.parametrize("how", ["take", "share"])
def test_a_lease_ends_with_its_holder_even_by_sigkill(tmp_path: Path, how: str) -> None:
    with another_process(tmp_path, how) as other:
        other.send_signal(signal.SIGKILL)
        other.wait(LONG)
        with alone(tmp_path, "node/a"):
            pass


def test_a_lease_is_given_back_when_its_holder_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), alone(tmp_path, "node/a"):
        raise RuntimeError
    assert held(tmp_path) == {"node_a": "free"}
    assert not is_waiting(tmp_path, "node/a")


def test_nobody_waits_in_a_circle(tmp_path: Path) -> None:
    """Two who want the same things in another order, while a third wants each of them alone."""

    def read(things: list[str]) -> None:
        for _ in range(30):
            with shared(tmp_path, things):
                pass

    def write() -> None:
        for thing in BOTH * 15:
            with alone(tmp_path, thing):
                pass

    _all_end([lambda: read(BOTH), lambda: read(BOTH[::-1]), write])


def test_what_is_shared_is_given_back_as_a_whole(tmp_path: Path) -> None:
    with shared(tmp_path, BOTH[::-1]):
        assert held(tmp_path) == {"node_a": "together", "node_b": "together"}
    assert held(tmp_path) == {"node_a": "free", "node_b": "free"}


def test_what_is_shared_is_given_back_when_its_holder_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), shared(tmp_path, BOTH):
        raise RuntimeError
    assert held(tmp_path) == {"node_a": "free", "node_b": "free"}


def test_who_waits_for_a_part_holds_only_what_comes_before_it(tmp_path: Path, holders: list[Holder]) -> None:
    with alone(tmp_path, "node/b"):
        holders.append(reader := Holder(lambda: shared(tmp_path, [*BOTH[::-1], "node/c"])))
        _until(lambda: (tmp_path / "leases" / "node_a").exists() and held(tmp_path)["node_a"] == "together")
        assert held(tmp_path).get("node_c", "free") == "free"
        assert not reader.holds.is_set()
    assert reader.holds.wait(LONG)


def test_a_writer_that_calms_down_goes_on_together_with_others(tmp_path: Path, holders: list[Holder]) -> None:
    with alone(tmp_path, "node/a") as mine:
        holders.append(reader := Holder(lambda: shared(tmp_path, ["node/a"])))
        assert held(tmp_path) == {"node_a": "alone"}
        assert not reader.holds.is_set()
        mine.calm()
        assert reader.holds.wait(LONG)
        assert held(tmp_path) == {"node_a": "together"}
        holders.append(writer := Holder(lambda: alone(tmp_path, "node/a")))
        _until(lambda: is_waiting(tmp_path, "node/a"))
        reader.give_back()
        assert not writer.holds.is_set(), "one who calmed down still holds it"
    assert writer.holds.wait(LONG)


def test_who_calms_down_lets_no_writer_in_between(tmp_path: Path, holders: list[Holder]) -> None:
    """Those who wait are let in one by one; the next writer comes after the one who calmed down is gone."""
    with alone(tmp_path, "node/a") as mine:
        writers = [Holder(lambda: alone(tmp_path, "node/a")) for _ in range(2)]
        holders += writers
        mine.calm()
        _until(lambda: is_waiting(tmp_path, "node/a"))
        assert held(tmp_path) == {"node_a": "together"}
        assert not any(writer.holds.is_set() for writer in writers)
    _until(lambda: any(writer.holds.is_set() for writer in writers))
    assert held(tmp_path) == {"node_a": "alone"}
    holders.sort(key=lambda writer: not writer.holds.is_set())


def test_two_who_disturb_one_node_each_and_then_share_it_do_not_wait_for_each_other(tmp_path: Path) -> None:
    begun = threading.Barrier(2)
    inside: list[str] = []

    def check(thing: str) -> None:
        begun.wait(LONG)
        for _ in range(30):
            with shared(tmp_path, ["cluster"]), alone(tmp_path, thing) as mine:
                assert thing not in inside
                inside.append(thing)
                inside.remove(thing)
                mine.calm()

    _all_end([lambda: check("node/a"), lambda: check("node/b")])
    assert held(tmp_path) == {"cluster": "free", "node_a": "free", "node_b": "free"}


def _all_end(works: list[Callable[[], None]]) -> None:
    """Run all at once; all have to come to an end, and to a good one."""
    ended: list[int] = []

    def run(number: int) -> None:
        works[number]()
        ended.append(number)

    threads = [threading.Thread(target=run, args=[number], daemon=True) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert sorted(ended) == list(range(len(works)))


def _until(holds: Callable[[], bool]) -> None:
    deadline = threading.Event()
    timer = threading.Timer(LONG, deadline.set)
    timer.start()
    try:
        while not holds():
            assert not deadline.wait(0.002)
    finally:
        timer.cancel()
