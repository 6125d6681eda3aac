"""The registry of planted faults, and how one enters itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from drivers.fake.behaviour import Behaviour


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: one line on what is wrong, and the behaviour that differs.

    `at_start`: it decides how the process starts, so it cannot be planted or pulled later.
    """

    description: str
    behaviour: type[Behaviour]
    at_start: bool


FAULTS: dict[str, Fault] = {}


def fault(name: str, at_start: bool = False) -> Callable[[type[Behaviour]], type[Behaviour]]:
    """Enter a behaviour, which says in its docstring what is wrong with it."""

    def register(behaviour: type[Behaviour]) -> type[Behaviour]:
        assert behaviour.__doc__
        FAULTS[name] = Fault(behaviour.__doc__, behaviour, at_start)
        return behaviour

    return register


def dawdle(seconds: float) -> None:
    """Take that long."""
    time.sleep(seconds)  # noqa: TID251
