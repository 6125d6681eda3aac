from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from drivers.fake.kube import KubeApi
from drivers.fake.settings import SettingsError
from drivers.fake.supervision import Supervision

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node


class Systemd:
    """Hears what a service tells."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.settimeout(5)

    def hear(self) -> str:
        return self._socket.recv(100).decode()

    def hears_nothing(self, seconds: float) -> bool:
        """After what it was told already, nothing more for so long."""
        self._socket.settimeout(0.05)
        with suppress(TimeoutError):
            while True:
                self.hear()
        self._socket.settimeout(seconds)
        try:
            self.hear()
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(5)
        return False

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def systemd(node: Node) -> Iterator[Systemd]:
    systemd = Systemd(str(node.root / "notify"))
    yield systemd
    systemd.close()


def test_a_service_is_ready_when_registered_and_feeds_the_watchdog_while_it_is_healthy(
    node: Node, systemd: Systemd
) -> None:
    env = {"NOTIFY_SOCKET": str(node.root / "notify"), "WATCHDOG_USEC": "600000"}
    driver = node.spawn(env=env)
    assert systemd.hears_nothing(0.5)
    driver.notify()
    assert [systemd.hear() for _ in range(4)] == ["READY=1", *["WATCHDOG=1"] * 3]
    driver.inject({"method": "GetInfo", "code": "UNAVAILABLE", "probe": True})
    assert systemd.hears_nothing(1)
    driver.inject()
    assert systemd.hear() == "WATCHDOG=1"
    driver.signal(signal.SIGSTOP)
    assert systemd.hears_nothing(1)
    driver.signal(signal.SIGCONT)
    assert systemd.hear() == "WATCHDOG=1"
    driver.signal(signal.SIGTERM)
    while systemd.hear() != "STOPPING=1":
        pass
    assert driver.end() == 0


def test_a_service_without_a_watchdog_says_only_that_it_is_ready(node: Node, systemd: Systemd) -> None:
    driver = node.spawn(env={"NOTIFY_SOCKET": str(node.root / "notify")})
    driver.notify()
    assert systemd.hear() == "READY=1"
    assert systemd.hears_nothing(0.5)


def test_an_abstract_socket_is_one_too() -> None:
    class Well:
        def registered(self, wait: float) -> bool:  # noqa: ARG002
            return True

        def serving(self) -> bool:
            return True

    systemd = Systemd("\0dra-conformance-unit-test")
    supervision = Supervision.from_env({"NOTIFY_SOCKET": "@dra-conformance-unit-test"}, Well())
    supervision.start()
    assert systemd.hear() == "READY=1"
    supervision.stop()
    assert systemd.hear() == "STOPPING=1"
    systemd.close()


def test_outside_a_pod_the_environment_must_name_the_api_server() -> None:
    with pytest.raises(SettingsError, match=r"KUBERNETES_SERVICE_HOST is not set; outside a pod: API_SERVER"):
        KubeApi.from_env({})
    with pytest.raises(SettingsError, match=r"CA_FILE is not set"):
        KubeApi.from_env({"API_SERVER": "https://api:6443", "TOKEN_FILE": "/token"})


def test_ports_that_are_free_are_found(node: Node) -> None:
    one, two = node.spawn(wait=False, health_port=0, admin_port=0), node.spawn(wait=False, health_port=0, admin_port=0)
    for driver in (one, two):
        node.until(driver.registration.exists)
        assert driver.end() == 0
