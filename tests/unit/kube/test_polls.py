"""Looking again and again: until it is so, or the time is over."""

from __future__ import annotations

import pytest

from fixtures.kube.polls import poll


def test_it_ends_with_the_first_look_that_is_so() -> None:
    seen = iter([0, 1, 2, 3])
    assert poll(lambda: next(seen), 60, until=lambda number: number == 2, every=0) == 2
    assert next(seen) == 3


def test_when_the_time_is_over_it_returns_what_was_seen_last() -> None:
    looks: list[int] = []

    def look() -> list[int]:
        looks.append(len(looks))
        return list(looks)

    last = poll(look, 0.05, until=lambda _: False, every=0.01)
    assert len(last) > 1
    assert last == looks


def test_it_looks_once_at_least() -> None:
    assert poll(lambda: "", 0) == ""


def test_what_a_look_raises_ends_it() -> None:
    def look() -> bool:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        poll(look, 60)
