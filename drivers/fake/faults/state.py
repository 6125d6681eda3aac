"""Faults in what the driver remembers of prepared claims."""

from __future__ import annotations

from pathlib import Path

from drivers.fake.behaviour import Behaviour
from drivers.fake.faults.registry import fault
from drivers.fake.state import MemoryStore, Store


@fault("state-in-memory", at_start=True)
class _StateInMemory(Behaviour):
    """Prepared claims are forgotten with the process, and what is forgotten is not cleaned up."""

    def store(self, path: Path, file_format: int) -> Store:  # noqa: ARG002
        return MemoryStore()

    def removes_cdi(self, known: bool) -> bool:
        return known and super().removes_cdi(known)
