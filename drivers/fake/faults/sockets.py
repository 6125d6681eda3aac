"""Faults in how instances of the driver share the directories of their sockets."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import grpc

from drivers.fake import sockets
from drivers.fake.behaviour import Behaviour, NodeFiles
from drivers.fake.faults.registry import dawdle, fault
from drivers.fake.settings import Settings

HEAD_START_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _UnguardedListener:
    path: Path

    def withdraw(self) -> None:
        self.path.unlink(missing_ok=True)


@fault("fixed-sockets", at_start=True)
class _FixedSockets(Behaviour):
    """Socket names without the pod UID: the newcomer takes them over, the leaving instance removes the newcomer's."""

    def seamless(self, settings: Settings) -> bool:  # noqa: ARG002
        return False

    def listen(self, server: grpc.Server, path: Path, lock: Path) -> sockets.Listener:  # noqa: ARG002
        server.add_insecure_port(f"unix:{path}")
        server.start()
        return _UnguardedListener(path)


@fault("newcomer-steals", at_start=True)
class _NewcomerSteals(Behaviour):
    """A new process removes the sockets of all other instances, seconds before it serves itself."""

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        if stolen := files.sockets_of_others():
            for path in stolen:
                path.unlink(missing_ok=True)
            dawdle(HEAD_START_SECONDS)


@fault("broken-newcomer-takes-over", at_start=True)
class _BrokenNewcomerTakesOver(Behaviour):
    """A process that `dies-after-registration` has removed the registration sockets of the other instances before."""

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        if "dies-after-registration" in files.settings.faults:
            for path in filter(sockets.is_registration, files.sockets_of_others()):
                path.unlink(missing_ok=True)


@fault("stale-socket-blocks-start", at_start=True)
class _StaleSocketBlocksStart(Behaviour):
    """A process does not start while a socket of one that was killed is left, and removes none."""

    def on_start(self, files: NodeFiles) -> None:
        if stale := [path for path in sockets.of_driver(files.settings) if not sockets.answers(path)]:
            raise SystemExit(f"{stale[0]} exists: is another instance running?")


@fault("drops-calls-on-sigterm")
class _DropsCallsOnSigterm(Behaviour):
    """The process ends at once when it is told to: with calls in flight, and leaving its sockets."""

    def before_stop(self) -> None:
        os._exit(0)


@fault("unregisters-when-hung", at_start=True)
class _UnregistersWhenHung(Behaviour):
    """Another process removes the registration socket as soon as this one is stopped (SIGSTOP)."""

    _watcher: subprocess.Popen[bytes] | None = None

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        command = [sys.executable, "-m", "drivers.fake.faults.watcher", str(os.getpid()), str(files.registration)]
        self._watcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._watcher.stdout is not None
        if not self._watcher.stdout.readline():
            raise SystemExit("the watcher of the process did not begin (planted: unregisters-when-hung)")
