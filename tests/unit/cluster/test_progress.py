"""What is told about long jobs."""

import threading

import pytest

from fixtures.cluster import progress


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0s"), (59.4, "59s"), (59.6, "1m00s"), (130, "2m10s")])
def test_durations_read_like_speech(seconds: float, said: str) -> None:
    assert progress.duration(seconds) == said


def test_steps_are_numbered_skipped_ones_too() -> None:
    said: list[str] = []
    steps = progress.Progress(said.append, 3)
    steps.skip()
    with steps.step("building"):
        pass
    assert said == ["[2/3] building", "[2/3] building (0s)"]


def test_failed_step_is_not_said_to_be_done() -> None:
    said: list[str] = []
    with pytest.raises(ValueError, match="broken"), progress.Progress(said.append, 1).step("building"):
        raise ValueError("broken")
    assert said == ["[1/1] building"]


def test_long_step_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "HEARTBEAT", 0.01)
    said: list[str] = []
    twice = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 2:
            twice.set()

    with progress.still_running(say, "building"):
        assert twice.wait(5)
    assert said[0] == "building: still running (0s)"
