"""Faults in what the driver says of itself: its health answer and its metrics."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from drivers.fake.behaviour import Behaviour, NodeFiles
from drivers.fake.faults.registry import fault
from drivers.fake.health import HealthServer, SocketCheck

if TYPE_CHECKING:
    from drivers.fake.metrics import Metrics

LOAD = 10


class _OtherProcess:
    """A process that answers SERVING until this one is gone: it notices by the end of its standard input."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "drivers.fake.health", str(self._port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


@fault("health-in-other-process", at_start=True)
class _HealthInOtherProcess(Behaviour):
    """The health probe is answered by another process, which says SERVING whatever happens to the driver."""

    def health_server(self, port: int, serving: Callable[[], bool]) -> HealthServer:  # noqa: ARG002
        return _OtherProcess(port)


@fault("always-serving")
class _AlwaysServing(Behaviour):
    """The health probe is answered SERVING without a look at the sockets."""

    def serving(self, check: SocketCheck) -> bool:  # noqa: ARG002
        return True


@fault("health-ignores-registration")
class _HealthIgnoresRegistration(Behaviour):
    """The health check calls the DRA socket only."""

    def serving(self, check: SocketCheck) -> bool:
        return check.service_answers()


@fault("health-ignores-hang")
class _HealthIgnoresHang(Behaviour):
    """The health check looks whether the sockets exist, and calls none."""

    def serving(self, check: SocketCheck) -> bool:
        return check.files_exist()


@fault("unhealthy-when-reregistered")
class _UnhealthyWhenReregistered(Behaviour):
    """A second registration of the process, as after a restart of the kubelet, is taken for a failure of its own."""

    _registrations = 0

    def on_registered(self, files: NodeFiles) -> None:
        super().on_registered(files)
        self._registrations += 1

    def serving(self, check: SocketCheck) -> bool:
        return self._registrations < 2 and super().serving(check)


@fault("unhealthy-under-load")
class _UnhealthyUnderLoad(Behaviour):
    """A process that has prepared more than ten claims takes itself for overloaded, and for good."""

    _prepared = 0

    def before_prepare(self) -> None:
        super().before_prepare()
        self._prepared += 1

    def serving(self, check: SocketCheck) -> bool:
        return self._prepared <= LOAD and super().serving(check)


@fault("no-metrics")
class _NoMetrics(Behaviour):
    """The driver's own metrics are not exposed."""

    def metrics_text(self, metrics: Metrics) -> bytes:  # noqa: ARG002
        return b""
