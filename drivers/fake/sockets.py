"""Unix sockets: what they are called, how they appear, and who may remove them.

Names follow the Go helper's rolling-update scheme, so that two versions can serve at the same time. Paths end at
107 characters, which is what grpcio accepts (Go takes 108).
"""

from __future__ import annotations

import base64
import errno
import hashlib
import logging
import re
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import grpc

from drivers.fake.files import locked
from drivers.fake.settings import Settings

PATH_MAX = 107

_LOG = logging.getLogger(__name__)
_UID = r"([0-9a-f-]{36}|[\w-]{11})"


def service_socket(settings: Settings, seamless: bool) -> Path:
    """The socket of the DRA service; with a long driver name the pod UID is shortened (the Go helper would fail)."""
    uid = settings.pod_uid
    names = [f"dra-{uid}.sock", f"dra-{_digest(uid, 8)}.sock", f"{_digest(uid, 8)}.sock"] if seamless else ["dra.sock"]
    return _first_that_fits(settings.data_dir, names)


def registration_socket(settings: Settings, seamless: bool) -> Path:
    """The socket in the kubelet's registry, named as by the Go helper of 1.37."""
    driver, uid = settings.driver_name, settings.pod_uid
    names = [f"{driver}-reg.sock"]
    if seamless:
        names = [
            f"{driver}-{uid}-reg.sock",
            f"{driver}-{_digest(uid, 8)}-reg.sock",
            "dra-" + _digest(driver + "\0" + uid, 16) + "-reg.sock",
        ]
    return _first_that_fits(settings.registry_dir, names)


def is_registration(path: Path) -> bool:
    """Whether a socket of the driver is a registration socket, by its name."""
    return path.name.endswith("-reg.sock")


def _first_that_fits(directory: Path, names: list[str]) -> Path:
    paths = [directory / name for name in names]
    return next((path for path in paths if len(str(path)) <= PATH_MAX), paths[-1])


def _digest(text: str, size: int) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:size]).rstrip(b"=").decode()


class Listener(Protocol):
    """A server's socket in the file system."""

    @property
    def path(self) -> Path:
        """Where clients find it."""

    def withdraw(self) -> None:
        """Remove the path; connections that are open stay open."""


@dataclass(frozen=True, slots=True)
class OwnedListener:
    """A socket that is removed only while it is still this server's own."""

    path: Path
    inode: int
    lock: Path

    def withdraw(self) -> None:
        """Remove the path, unless another instance has bound it since."""
        with locked(self.lock):
            try:
                if self.path.stat().st_ino == self.inode:
                    self.path.unlink()
            except FileNotFoundError:
                pass


def listen(server: grpc.Server, path: Path, lock: Path) -> OwnedListener:
    """Start `server`, then show its socket at `path` in one step, in place of whatever lay there.

    grpcio removes the path that it was given when it stops, also if a newer server has bound it since. So it is
    given a hidden path of its own, and the socket is renamed once it listens: nobody meets a path that does not
    answer, and who stops removes nothing of one who starts just then.
    """
    hidden = path.with_name(f".{secrets.token_urlsafe(5)}")
    with locked(lock):
        server.add_insecure_port(f"unix:{hidden}")
        server.start()
        inode = hidden.stat().st_ino
        hidden.rename(path)
    return OwnedListener(path, inode, lock)


def of_driver(settings: Settings) -> list[Path]:
    """The sockets of all instances of this driver on the node, living and dead.

    Not found are the registration sockets of other pods whose driver has a name so long (over 52 characters) that
    only a hash of it is in the socket's name.
    """
    own_registration = re.compile(rf"{re.escape(settings.driver_name)}(-{_UID})?-reg\.sock")
    own_service = re.compile(rf"dra(-{_UID})?\.sock|[\w-]{{11}}\.sock")
    return [
        path
        for directory, pattern in ((settings.registry_dir, own_registration), (settings.data_dir, own_service))
        for path in sorted(directory.iterdir())
        if pattern.fullmatch(path.name) and path.is_socket()
    ]


def remove_stale(settings: Settings, lock: Path) -> None:
    """Remove this driver's sockets that nobody listens on: those of instances that were killed."""
    with locked(lock):
        for path in of_driver(settings):
            if not answers(path):
                _LOG.info("removing %s: nobody listens on it", path)
                path.unlink(missing_ok=True)


def answers(path: Path) -> bool:
    """Whether somebody listens on a socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        return client.connect_ex(str(path)) != errno.ECONNREFUSED
