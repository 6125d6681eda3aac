"""The journal: one JSON line per call and claim, of all instances of the driver on the node.

Keys: `instance` (pod UID), `process`, `version`, `service`, `method`, `claim_uid`, `claim_namespace`, `claim_name`
(empty for calls without claims), `result` (`ok` or what went wrong), `start` and `end` (seconds since the epoch).
A call that has not ended has `end` null and result `in flight`; only the instance that serves it knows it.
A driver's own life is in it too, as methods `start`, `sigterm` and `stop`.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from drivers.fake.files import locked
from drivers.fake.settings import Settings

SIZE_MAX = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """One line."""

    instance: str
    process: str
    version: str
    service: str
    method: str
    claim_uid: str
    claim_namespace: str
    claim_name: str
    result: str
    start: float
    end: float | None


class Journal:
    """Appends to the file that all instances share. The file and its predecessor have at most SIZE_MAX bytes each."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._previous = path.with_suffix(".previous.jsonl")
        self._identity = (settings.pod_uid, settings.process, settings.version)
        self._open_calls: dict[int, list[Entry]] = {}
        self._lock = threading.Lock()

    def entry(
        self,
        method: str,
        service: str = "",
        claim: tuple[str, str, str] = ("", "", ""),
        result: str = "ok",
        start: float | None = None,
        end: float | None = None,
    ) -> Entry:
        """An entry of this process; `claim` is UID, namespace and name."""
        return Entry(*self._identity, service, method, *claim, result, time.time() if start is None else start, end)

    def event(self, method: str, result: str = "ok") -> None:
        """Write that something happened just now."""
        now = time.time()
        self.append([self.entry(method, result=result, start=now, end=now)])

    def opened(self, key: int, entries: list[Entry]) -> None:
        """Note a call that begins."""
        with self._lock:
            self._open_calls[key] = entries

    def closed(self, key: int, entries: Iterable[Entry]) -> None:
        """Write the entries of a call that was opened under `key`."""
        with self._lock:
            self._open_calls.pop(key, None)
        self.append(entries)

    def append(self, entries: Iterable[Entry]) -> None:
        """Write finished entries."""
        data = "".join(json.dumps(asdict(entry)) + "\n" for entry in entries).encode()
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, data)
            full = os.fstat(descriptor).st_size > SIZE_MAX
        finally:
            os.close(descriptor)
        if full:
            self._rotate()

    def read(self) -> str:
        """All lines, oldest first, then the calls that this process is serving."""
        text = "".join(path.read_text() for path in (self._previous, self._path) if path.exists())
        with self._lock:
            in_flight = [entry for entries in self._open_calls.values() for entry in entries]
        return text + "".join(json.dumps(asdict(entry)) + "\n" for entry in in_flight)

    def _rotate(self) -> None:
        with locked(self._path.with_suffix(".lock")):
            if self._path.stat().st_size > SIZE_MAX:
                self._path.rename(self._previous)
