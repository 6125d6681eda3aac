"""Running other programs: output, failures, time limits, and no survivors."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fixtures.cluster import host
from fixtures.cluster.commands import CommandError, Commands, tail_of


def lives(pid: int) -> bool:
    return host.process_start(pid) is not None


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 5
    while lives(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        threading.Event().wait(0.02)


def wait_for_text(file: Path) -> str:
    deadline = time.monotonic() + 5
    while not (file.exists() and file.read_text().endswith("\n")):
        assert time.monotonic() < deadline, f"nothing in {file}"
        threading.Event().wait(0.02)
    return file.read_text().strip()


def test_output_is_returned() -> None:
    assert Commands().run(["sh", "-c", "echo out; echo err >&2"], limit=10) == "out\n"


def test_failure_tells_what_was_printed() -> None:
    with pytest.raises(CommandError, match="exit code 3") as caught:
        Commands().run(["sh", "-c", "echo out; echo err >&2; exit 3"], limit=10)
    assert caught.value.tail == "out\nerr"


def test_failure_with_a_log_tells_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(CommandError) as caught:
        Commands().run(["sh", "-c", "seq 100; exit 1"], limit=10, log=log)
    assert caught.value.tail.splitlines()[-1] == "100"
    assert log.read_text().splitlines()[0] == "1"


def test_missing_program_is_a_failure_like_any_other() -> None:
    with pytest.raises(CommandError):
        Commands().run(["no-such-program-anywhere"], limit=10)


def test_time_limit_ends_the_children_too(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with pytest.raises(CommandError, match="no end within"):
        Commands().run(["sh", "-c", f"sleep 600 & echo $! > {pid_file}; wait"], limit=0.3)
    wait_for_end(int(wait_for_text(pid_file)))


def test_end_all_ends_what_runs_and_refuses_more(tmp_path: Path) -> None:
    commands, pid_file, caught = Commands(), tmp_path / "pid", list[CommandError]()

    def run() -> None:
        try:
            commands.run(["sh", "-c", f"echo $$ > {pid_file}; exec sleep 600"], limit=60)
        except CommandError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    pid = int(wait_for_text(pid_file))
    commands.end_all()
    thread.join(5)
    assert not lives(pid)
    assert len(caught) == 1
    with pytest.raises(CommandError, match="the session is ending"):
        commands.run(["true"], limit=10)


def test_program_ends_when_we_are_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = (
        "from fixtures.cluster.commands import Commands\n"
        f"Commands().run(['sh', '-c', 'echo $$ > {pid_file}; exec sleep 600'], limit=600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[3]) as session:
        pid = int(wait_for_text(pid_file))
        os.kill(session.pid, signal.SIGKILL)
    wait_for_end(pid)


def test_stream_is_read_by_the_program(tmp_path: Path) -> None:
    with Commands().feeding(["sh", "-c", f"cat > {tmp_path}/copy"], limit=10) as stream:
        stream.write(b"text")
    assert (tmp_path / "copy").read_text() == "text"


def test_program_that_stops_reading_fails_by_its_own_words() -> None:
    with (
        pytest.raises(CommandError, match="no space") as caught,
        Commands().feeding(["sh", "-c", "echo no space >&2; exit 1"], limit=10) as stream,
    ):
        stream.write(b"x" * 10_000_000)
    assert caught.value.tail == "no space"


def test_tail_skips_empty_lines() -> None:
    assert tail_of("a\n\nb\n\n\nc\n", lines=2) == "b\nc"
