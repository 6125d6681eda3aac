"""Faults in what the driver remembers of prepared claims."""

from __future__ import annotations

import threading
from pathlib import Path

from drivers.fake.behaviour import Behaviour, NodeFiles
from drivers.fake.faults.registry import fault
from drivers.fake.files import locked, write_atomically
from drivers.fake.state import NEWEST_FORMAT, FileStore, MemoryStore, Store

MIGRATION_SECONDS = 1.0


@fault("state-in-memory", at_start=True)
class _StateInMemory(Behaviour):
    """Prepared claims are forgotten with the process, and what is forgotten is not cleaned up."""

    def store(self, path: Path, file_format: int) -> Store:  # noqa: ARG002
        return MemoryStore()

    def removes_cdi(self, known: bool) -> bool:
        return known and super().removes_cdi(known)


class _NewerStore(FileStore):
    newest = NEWEST_FORMAT + 1

    def migrate(self) -> None:
        with locked(self._lock):
            write_atomically(self._path, self._encode(self._read()))


@fault("newer-format-unreadable", at_start=True)
class _NewerFormatUnreadable(Behaviour):
    """Version 2 rewrites the state file, once it is registered, in a format that version 1 refuses."""

    def store(self, path: Path, file_format: int) -> Store:
        return super().store(path, file_format) if file_format < 2 else _NewerStore(path, _NewerStore.newest)

    def on_registered(self, files: NodeFiles) -> None:
        super().on_registered(files)
        if isinstance(files.store, _NewerStore):
            # Later than a version that `dies-after-registration` lives: the old one serves on after that.
            threading.Timer(MIGRATION_SECONDS, files.store.migrate).start()


@fault("kills-devices-on-start", at_start=True)
class _KillsDevicesOnStart(Behaviour):
    """The start resets the devices: claims are forgotten and their CDI files removed, though pods run with them."""

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        with files.store.transaction() as claims:
            for uid in claims:
                files.cdi.remove(uid)
            claims.clear()


@fault("leaks-on-restart", at_start=True)
class _LeaksOnRestart(Behaviour):
    """Unprepare succeeds for claims that an earlier process prepared, but their devices stay held."""

    _inherited: frozenset[str] = frozenset()

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        with files.store.transaction() as claims:
            self._inherited = frozenset(claims)

    def frees_device(self, claim_uid: str) -> bool:
        return claim_uid not in self._inherited and super().frees_device(claim_uid)
