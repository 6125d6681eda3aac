"""The health answers: `grpc.health.v1` for the liveness probe, and the check behind it.

`python3 -m drivers.fake.health PORT` answers SERVING until its standard input ends: it is the health process of a
driver that has the fault `health-in-other-process`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health_pb2

from drivers.fake.rpc import DRA_PLUGIN, GET_INFO, HEALTH_CHECK, PROBE_METADATA, Method, channel

CALL_TIMEOUT_SECONDS = 1.8
"""For each of the two calls, so that the answer comes before the probe (5 s) gives up."""

_LOG = logging.getLogger(__name__)


class HealthServer(Protocol):
    """What answers the liveness probe."""

    def start(self) -> None:
        """Begin to answer."""

    def stop(self) -> None:
        """Stop answering."""


class LocalHealthServer:
    """Answers on a TCP port (-1: nowhere), for the service without a name, what `serving` says at that moment."""

    def __init__(self, port: int, serving: Callable[[], bool]) -> None:
        self._serving = serving
        self._server = grpc.server(ThreadPoolExecutor(2, "health"), options=[("grpc.so_reuseport", 0)])
        handlers = {HEALTH_CHECK.name: HEALTH_CHECK.unary(self._check)}
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(HEALTH_CHECK.service, handlers)])
        if port >= 0:
            self._server.add_insecure_port(f"[::]:{port}")

    def start(self) -> None:
        """See HealthServer."""
        self._server.start()

    def stop(self) -> None:
        """See HealthServer."""
        self._server.stop(grace=None).wait()

    def _check(
        self, request: health_pb2.HealthCheckRequest, context: grpc.ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        if request.service:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no service {request.service}")
        status = health_pb2.HealthCheckResponse
        return status(status=status.SERVING if self._serving() else status.NOT_SERVING)


class SocketCheck:
    """Calls the driver's own sockets by their paths, on new connections, as the kubelet does when it registers it."""

    def __init__(self, driver: str, registration: Path, service: Path, plugin_version: str) -> None:
        self._driver = driver
        self._registration = registration
        self._service = service
        self._plugin = DRA_PLUGIN[plugin_version]

    def __call__(self) -> bool:
        """Whether both sockets answer, and are this driver's."""
        return self.registration_answers() and self.service_answers()

    def registration_answers(self) -> bool:
        """Whether the registration socket answers, and leads here."""
        info = _answer(GET_INFO, self._registration)
        if info is None:
            return False
        if (info.name, info.endpoint) != (self._driver, str(self._service)):
            _LOG.warning("not healthy: %s answers for %s at %s", self._registration, info.name, info.endpoint)
            return False
        return True

    def service_answers(self) -> bool:
        """Whether the socket of the DRA service answers, to a request without claims."""
        return _answer(self._plugin.prepare, self._service) is not None

    def files_exist(self) -> bool:
        """Whether both sockets are there, without a call."""
        return self._registration.is_socket() and self._service.is_socket()


def _answer(method: Method, path: Path) -> Any:
    with channel(str(path)) as connection:
        try:
            return method.stub(connection)(method.request(), timeout=CALL_TIMEOUT_SECONDS, metadata=PROBE_METADATA)
        except grpc.RpcError as error:
            _LOG.warning("not healthy: %s: %s %s", path, error.code().name, error.details())
            return None


def main() -> None:
    """Answer SERVING until the standard input ends."""
    server = LocalHealthServer(int(sys.argv[1]), lambda: True)
    server.start()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
