"""Which faults are planted in a process, and the one behaviour that they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drivers.fake.behaviour import Behaviour
from drivers.fake.faults.registry import FAULTS
from drivers.fake.injection import Rules


class Switches:
    """Which faults are planted in this process, and which rules are injected into its calls."""

    def __init__(self, planted: Iterable[str] = ()) -> None:
        self.rules = Rules()
        self._planted = _known(planted)
        self._behaviour = _combined(self._planted)

    @property
    def behaviour(self) -> Behaviour:
        """How to behave now."""
        return self._behaviour

    @property
    def planted(self) -> tuple[str, ...]:
        """The ids of the planted faults."""
        return self._planted

    def plant(self, ids: Iterable[str]) -> None:
        """Replace the planted faults; raises ValueError for unknown ones and for changes only a start can make."""
        planted = _known(ids)
        if fixed := sorted(name for name in set(planted) ^ set(self._planted) if FAULTS[name].at_start):
            raise ValueError(f"{', '.join(fixed)} can only be planted by FAULTS, when the driver starts")
        behaviour = _combined(planted)
        behaviour.__dict__.update(self._behaviour.__dict__)  # what a fault that stays remembers
        self._planted, self._behaviour = planted, behaviour


def _known(ids: Iterable[str]) -> tuple[str, ...]:
    planted = tuple(dict.fromkeys(ids))
    if unknown := [name for name in planted if name not in FAULTS]:
        raise ValueError(f"unknown fault {', '.join(unknown)}; known are {', '.join(sorted(FAULTS))}")
    return planted


def _combined(planted: Sequence[str]) -> Behaviour:
    if not planted:
        return Behaviour()
    combined: type[Behaviour] = type("Faulty", tuple(FAULTS[name].behaviour for name in planted), {})
    return combined()
