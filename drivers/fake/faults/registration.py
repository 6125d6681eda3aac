"""Faults in how the driver registers with the kubelet."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

import grpc

from drivers.fake import sockets
from drivers.fake.behaviour import Behaviour, NodeFiles
from drivers.fake.faults.registry import dawdle, fault
from drivers.fake.health import SocketCheck
from drivers.fake.injection import RpcError

SLOW_GET_INFO_SECONDS = 1.5
SLOW_GET_INFO_FOR_SECONDS = 20.0
LATE_SECONDS = 20.0  # long for a busy machine, yet too short for the kubelet to withdraw the slices (30 s)
LOOK_SECONDS = 0.2
LAST_BREATH_SECONDS = 0.02

_LOG = logging.getLogger(__name__)


@fault("registers-once")
class _RegistersOnce(Behaviour):
    """GetInfo answers until the kubelet has registered this process once, and fails ever after."""

    def before_get_info(self, registered: bool, age: float) -> None:
        super().before_get_info(registered, age)
        if registered:
            raise RpcError(grpc.StatusCode.FAILED_PRECONDITION, "registered before (planted: registers-once)")


@fault("getinfo-slow")
class _GetInfoSlow(Behaviour):
    """GetInfo takes longer than the kubelet waits, for the first 20 seconds of the process."""

    def before_get_info(self, registered: bool, age: float) -> None:
        super().before_get_info(registered, age)
        if age < SLOW_GET_INFO_FOR_SECONDS:
            dawdle(SLOW_GET_INFO_SECONDS)


class _LateListener:
    """A listener that `listen` makes in the background, some seconds after the other instances have left."""

    def __init__(self, path: Path, others: Callable[[], list[Path]], listen: Callable[[], sockets.Listener]) -> None:
        self.path = path
        self._others, self._listen = others, listen
        self._listener: sockets.Listener | None = None
        self._lock = threading.Lock()
        self._withdrawn = threading.Event()
        threading.Thread(target=self._begin, daemon=True).start()

    @property
    def listens(self) -> bool:
        """Whether the socket has been there."""
        return self._listener is not None

    def withdraw(self) -> None:
        """See Listener."""
        self._withdrawn.set()
        with self._lock:
            if self._listener is not None:
                self._listener.withdraw()

    def _begin(self) -> None:
        while any(map(sockets.answers, self._others())) and not self._withdrawn.wait(LOOK_SECONDS):
            pass
        self._withdrawn.wait(LATE_SECONDS)
        with self._lock:
            if not self._withdrawn.is_set():
                self._listener = self._listen()


@fault("ready-before-registered", at_start=True)
class _ReadyBeforeRegistered(Behaviour):
    """Ready and healthy at once, but the registration socket appears only seconds after those of others are gone."""

    # Counted from the process's own start, a machine so busy that a rollout's step takes longer would show no gap.

    _late: _LateListener | None = None

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        self._files = files

    def listen(self, server: grpc.Server, path: Path, lock: Path) -> sockets.Listener:
        if not sockets.is_registration(path):
            return super().listen(server, path, lock)
        begin = super().listen
        self._late = _LateListener(path, self._files.sockets_of_others, lambda: begin(server, path, lock))
        return self._late

    def serving(self, check: SocketCheck) -> bool:
        waits = self._late is not None and not self._late.listens
        return waits or super().serving(check)

    def ready(self, registered: Callable[[], bool]) -> bool:  # noqa: ARG002
        return True


class _NoListener:
    def __init__(self, path: Path) -> None:
        self.path = path

    def withdraw(self) -> None:
        """There is nothing to remove."""


@fault("dies-after-registration")
class _DiesAfterRegistration(Behaviour):
    """The process registers without a DRA socket, ends with an error once it is registered, and is never ready."""

    # With the socket some prepare would be in flight when it ends, and fail whatever the other instances do.

    def listen(self, server: grpc.Server, path: Path, lock: Path) -> sockets.Listener:
        return super().listen(server, path, lock) if sockets.is_registration(path) else _NoListener(path)

    def ready(self, registered: Callable[[], bool]) -> bool:  # noqa: ARG002
        return False

    def on_registered(self, files: NodeFiles) -> None:
        super().on_registered(files)
        # The kubelet gets its answer first, or it would not count the driver as registered.
        threading.Timer(LAST_BREATH_SECONDS, _die).start()


def _die() -> None:
    _LOG.critical("this version cannot work here (planted: dies-after-registration)")
    os._exit(1)


@fault("never-reregisters", at_start=True)
class _NeverReregisters(Behaviour):
    """A process that comes after another, without an overlap, takes itself for registered and says that all is well."""

    _silent = False

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        self._silent = _marker(files).exists() and not sockets.of_driver(files.settings)

    def on_registered(self, files: NodeFiles) -> None:
        super().on_registered(files)
        _marker(files).touch()

    def listen(self, server: grpc.Server, path: Path, lock: Path) -> sockets.Listener:
        if self._silent and sockets.is_registration(path):
            return _NoListener(path)
        return super().listen(server, path, lock)

    def serving(self, check: SocketCheck) -> bool:
        return check.service_answers() if self._silent else super().serving(check)

    def ready(self, registered: Callable[[], bool]) -> bool:
        return self._silent or super().ready(registered)


def _marker(files: NodeFiles) -> Path:
    return files.settings.data_dir / "registered"
