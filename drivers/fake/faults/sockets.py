"""Faults in how instances of the driver share the directories of their sockets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import grpc

from drivers.fake import sockets
from drivers.fake.behaviour import Behaviour
from drivers.fake.faults.registry import fault
from drivers.fake.settings import Settings


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
