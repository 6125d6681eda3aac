"""Faults in what the driver says of itself: its health answer and its metrics."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from drivers.fake.behaviour import Behaviour
from drivers.fake.faults.registry import fault
from drivers.fake.health import HealthServer

if TYPE_CHECKING:
    from drivers.fake.metrics import Metrics


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

    def serving(self, check: Callable[[], bool]) -> bool:  # noqa: ARG002
        return True


@fault("no-metrics")
class _NoMetrics(Behaviour):
    """The driver's own metrics are not exposed."""

    def metrics_text(self, metrics: Metrics) -> bytes:  # noqa: ARG002
        return b""
