"""What the driver remembers of prepared claims, shared by all its instances on the node.

The file carries its format and a checksum. Format 2 also tells which version prepared a claim; version 1 reads it and
leaves that out, so that a rollback finds its claims. A file that cannot be read stops the start of the driver with a
message that names it: an admin who moves it away (after draining the node) gets an empty state; claims prepared before
are then unknown, so unprepare succeeds for them and removes their CDI file, but their devices are not guarded.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from drivers.fake.files import locked, write_atomically

NEWEST_FORMAT = 2


class StateError(Exception):
    """The state file cannot be used; the message names it and the remedy."""


@dataclass(frozen=True, slots=True)
class HeldDevice:
    """One allocation result of a prepared claim; `requests` are base names, without the subrequest."""

    pool: str
    device: str
    requests: tuple[str, ...]
    share_id: str | None = None
    admin: bool = False

    def excludes(self, other: HeldDevice) -> bool:
        """Whether two claims may not hold these at the same time."""
        same = (self.pool, self.device) == (other.pool, other.device)
        shared = self.admin or other.admin or (self.share_id is not None and other.share_id is not None)
        return same and not shared


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A prepared claim. `prepared_by` is a driver version, empty when format 1 wrote it."""

    uid: str
    namespace: str
    name: str
    devices: tuple[HeldDevice, ...]
    prepared_by: str = ""


Claims = dict[str, HeldClaim]


class Store(Protocol):
    """Where prepared claims are kept, by UID."""

    def transaction(self) -> AbstractContextManager[Claims]:
        """The claims, to read and change while nobody else does; kept when the block ends without an error."""


class MemoryStore:
    """Claims that are gone with the process."""

    def __init__(self) -> None:
        self._claims: Claims = {}
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator[Claims]:
        """See Store."""
        with self._lock:
            yield self._claims


class FileStore:
    """Claims in a file, changed under a lock file by any instance of the driver.

    `newest` is the newest format that can be read.
    """

    newest = NEWEST_FORMAT

    def __init__(self, path: Path, file_format: int) -> None:
        self._path = path
        self._lock = path.with_suffix(".lock")
        self._format = min(file_format, self.newest)

    @contextmanager
    def transaction(self) -> Iterator[Claims]:
        """See Store; raises StateError when the file is unusable."""
        with locked(self._lock):
            claims = self._read()
            before = dict(claims)
            yield claims
            if claims != before:
                write_atomically(self._path, self._encode(claims))

    def _read(self) -> Claims:
        try:
            return _decode(self._path.read_text(), self.newest)
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise StateError(
                f"state file {self._path} cannot be used: {error!r}. Drain the node, then move the file away: "
                "the driver starts again, and the Pods that remain can be deleted"
            ) from error

    def _encode(self, claims: Claims) -> str:
        entries = {uid: asdict(claim) for uid, claim in sorted(claims.items())}
        if self._format == 1:
            for entry in entries.values():
                del entry["prepared_by"]
        return json.dumps({"format": self._format, "checksum": _checksum(entries), "claims": entries}, indent=1)


def _decode(text: str, newest: int) -> Claims:
    document = json.loads(text)
    if document["format"] > newest:
        raise ValueError(f"format {document['format']} is newer than {newest}")
    if document["checksum"] != _checksum(document["claims"]):
        raise ValueError("wrong checksum")
    return {uid: _claim(entry) for uid, entry in document["claims"].items()}


def _claim(entry: dict[str, Any]) -> HeldClaim:
    devices = tuple(HeldDevice(**{**device, "requests": tuple(device["requests"])}) for device in entry["devices"])
    return HeldClaim(**{**entry, "devices": devices})


def _checksum(entries: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(entries, sort_keys=True).encode())
