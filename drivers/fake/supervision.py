"""What systemd is told of a driver that it runs as a service of `Type=notify`: registered, healthy, stopping.

The protocol is that of sd_notify(3): datagrams to the socket NOTIFY_SOCKET. Without that variable nobody is told.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from typing import Protocol

FEEDS_PER_TIMEOUT = 3
_LOOK_SECONDS = 1.0


class Supervised(Protocol):
    """What is watched over."""

    def registered(self, wait: float) -> bool:
        """Whether the kubelet has registered the driver, or does so within so many seconds."""

    def serving(self) -> bool:
        """The health answer of now."""


class Supervision:
    """READY=1 once the driver is registered; then WATCHDOG=1, several times per WATCHDOG_USEC, while it is SERVING."""

    def __init__(self, address: str, timeout: float, driver: Supervised) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._period = timeout / FEEDS_PER_TIMEOUT
        self._driver = driver
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervision", daemon=True)

    @classmethod
    def from_env(cls, env: Mapping[str, str], driver: Supervised) -> Supervision:
        """As systemd says in the environment; a service without a watchdog only tells that it is ready."""
        return cls(env.get("NOTIFY_SOCKET", ""), int(env.get("WATCHDOG_USEC", "0")) / 1e6, driver)

    def start(self) -> None:
        """Watch in the background, if somebody wants to know."""
        if self._address:
            self._thread.start()

    def stop(self) -> None:
        """The driver is about to stop."""
        self._stopping.set()
        if self._address:
            self._tell("STOPPING=1")

    def _watch(self) -> None:
        while not self._driver.registered(_LOOK_SECONDS):
            if self._stopping.is_set():
                return
        self._tell("READY=1")
        while self._period and not self._stopping.is_set():
            if self._driver.serving():
                self._tell("WATCHDOG=1")
            self._stopping.wait(self._period)

    def _tell(self, state: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(state.encode(), self._address)
