"""Leases: readers together, a writer alone, a waiting writer before new readers, and none outlives its holder."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fixtures.leases import lease, shared

LONG = 20.0
HOLD = """
import sys
from pathlib import Path
from fixtures.leases import lease
with lease(Path(sys.argv[1]), "node/a", alone=sys.argv[2] == "alone"):
    print("held", flush=True)
    sys.stdin.read()
"""


class Holder:
    """A thread that takes a lease as soon as it can and gives it back when told to."""

    def __init__(self, state: Path, thing: str, *, alone: bool) -> None:
        self.waits, self.holds, self._over = threading.Event(), threading.Event(), threading.Event()
        self._lease = lease(state, thing, alone=alone)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self.waits.wait(LONG)

    def _run(self) -> None:
        self.waits.set()
        with self._lease:
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


def is_waiting(state: Path, thing: str) -> bool:
    """Whether somebody holds the gate of a thing: a writer that waits, or one at work."""
    with (state / "leases" / f"{thing.replace('/', '_')}.gate").open("w") as gate:
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_readers_hold_a_thing_together(tmp_path: Path, holders: list[Holder]) -> None:
    for _ in range(3):
        holders.append(Holder(tmp_path, "node/a", alone=False))
    assert all(holder.holds.wait(LONG) for holder in holders)


def test_a_writer_waits_for_all_readers_and_is_then_alone(tmp_path: Path, holders: list[Holder]) -> None:
    readers = [Holder(tmp_path, "node/a", alone=False) for _ in range(2)]
    assert all(reader.holds.wait(LONG) for reader in readers)
    holders.append(writer := Holder(tmp_path, "node/a", alone=True))
    _until(lambda: is_waiting(tmp_path, "node/a"))
    readers[0].give_back()
    assert not writer.holds.is_set()
    readers[1].give_back()
    assert writer.holds.wait(LONG)


def test_a_waiting_writer_goes_before_new_readers(tmp_path: Path, holders: list[Holder]) -> None:
    reader = Holder(tmp_path, "node/a", alone=False)
    assert reader.holds.wait(LONG)
    writer = Holder(tmp_path, "node/a", alone=True)
    _until(lambda: is_waiting(tmp_path, "node/a"))
    holders.append(late := Holder(tmp_path, "node/a", alone=False))
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
            with lease(tmp_path, "node/a", alone=True):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert (inside, most) == (0, 1)


def test_leases_of_different_things_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with lease(tmp_path, "node/a", alone=True), lease(tmp_path, "node/b", alone=True), shared(tmp_path, ["cluster"]):
        assert sorted(file.name for file in (tmp_path / "leases").iterdir()) == [
            "cluster",
            "cluster.gate",
            "node_a",
            "node_a.gate",
            "node_b",
            "node_b.gate",
        ]


def test_a_lease_holds_between_processes(tmp_path: Path, holders: list[Holder]) -> None:
    with another_process(tmp_path, "alone") as other:
        holders.append(reader := Holder(tmp_path, "node/a", alone=False))
        assert not reader.holds.is_set()
        assert other.stdin is not None
        other.stdin.close()
        assert reader.holds.wait(LONG)


@pytest.mark.parametrize("how", ["alone", "together"])
def test_a_lease_ends_with_its_holder_even_by_sigkill(tmp_path: Path, how: str) -> None:
    with another_process(tmp_path, how) as other:
        other.send_signal(signal.SIGKILL)
        other.wait(LONG)
        with lease(tmp_path, "node/a", alone=True):
            pass


def test_a_lease_is_given_back_when_its_holder_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), lease(tmp_path, "node/a", alone=True):
        raise RuntimeError
    with lease(tmp_path, "node/a", alone=True):
        pass


def test_nobody_waits_in_a_circle(tmp_path: Path) -> None:
    """Two who want the same things in another order, while a third wants each of them alone."""

    def read(things: list[str]) -> None:
        for _ in range(30):
            with shared(tmp_path, things):
                pass

    def write() -> None:
        for thing in ["node/a", "node/b"] * 15:
            with lease(tmp_path, thing, alone=True):
                pass

    threads = [threading.Thread(target=read, args=[things]) for things in (["node/a", "node/b"], ["node/b", "node/a"])]
    threads.append(threading.Thread(target=write))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not [thread for thread in threads if thread.is_alive()]


def test_what_is_shared_is_given_back_as_a_whole(tmp_path: Path) -> None:
    with shared(tmp_path, ["node/b", "node/a"]):
        pass
    with ExitStack() as stack:
        for thing in ("node/a", "node/b"):
            stack.enter_context(lease(tmp_path, thing, alone=True))


def _until(holds: Callable[[], bool]) -> None:
    deadline = threading.Event()
    timer = threading.Timer(LONG, deadline.set)
    timer.start()
    try:
        while not holds():
            assert not deadline.wait(0.002)
    finally:
        timer.cancel()
