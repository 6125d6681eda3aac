"""What surrounds each call of the kubelet: planted rules, the journal, the metrics."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from drivers.fake.faults import Switches
from drivers.fake.injection import RpcError, spoil
from drivers.fake.journal import Entry, Journal
from drivers.fake.metrics import Metrics
from drivers.fake.rpc import PROBE_METADATA, Method

_LOG = logging.getLogger(__name__)
_KEYS = itertools.count()
_OPEN = "in flight"


class Calls:
    """Wraps the functions that serve gRPC methods."""

    def __init__(self, switches: Switches, journal: Journal, metrics: Metrics) -> None:
        self._switches = switches
        self._journal = journal
        self._metrics = metrics

    def unary(self, method: Method, serve: Callable[[Any, bool], Any]) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a method that answers once.

        `serve` takes the request and whether the driver itself called, for its health; it may raise RpcError.
        """

        def handle(request: Any, context: grpc.ServicerContext) -> Any:
            own = PROBE_METADATA[0] in context.invocation_metadata()
            claims = [claim.name for claim in getattr(request, "claims", ())]
            rules = self._switches.rules.take(method.name, claims, own)

            def answer() -> Any:
                with self._switches.behaviour.turn():
                    return spoil(rules, request, lambda seconds: self._pause(context, seconds), lambda r: serve(r, own))

            try:
                return answer() if own else self._recorded(method, request, answer)
            except RpcError as error:
                context.abort(error.code, error.details)

        return method.unary(handle)

    def stream(
        self, method: Method, serve: Callable[[grpc.ServicerContext], Iterator[Any]]
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler for a method that answers with a stream."""

        def handle(_request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            start, key = time.time(), next(_KEYS)
            self._journal.opened(key, [self._journal.entry(method.name, method.service, result=_OPEN, start=start)])
            try:
                yield from serve(context)
            finally:
                end = time.time()
                self._journal.closed(key, [self._journal.entry(method.name, method.service, start=start, end=end)])

        return method.stream(handle)

    def _pause(self, context: grpc.ServicerContext, seconds: float | None) -> None:
        over = threading.Event()
        if not context.add_callback(over.set):
            return
        if seconds is None:
            self._switches.rules.hang(over)
        else:
            over.wait(seconds)

    def _recorded(self, method: Method, request: Any, answer: Callable[[], Any]) -> Any:
        claims = [(claim.uid, claim.namespace, claim.name) for claim in getattr(request, "claims", ())]
        start = time.time()
        code, results = "Unknown", {}

        def entry(claim: tuple[str, str, str], result: str, end: float | None) -> Entry:
            return self._journal.entry(method.name, method.service, claim, result, start, end)

        key = next(_KEYS)
        subjects = claims or [("", "", "")]
        self._journal.opened(key, [entry(claim, _OPEN, None) for claim in subjects])
        failure = "the driver ended the call with an exception"
        try:
            response = answer()
            code = "OK"
            results = {uid: _result(response, uid) for uid, _, _ in claims} or {"": "ok"}
            return response
        except RpcError as error:
            code, failure = _go_name(error.code), error.details
            raise
        finally:
            end = time.time()
            self._journal.closed(key, [entry(claim, results.get(claim[0], failure), end) for claim in subjects])
            self._metrics.call(method.path, code, end - start)
            _LOG.info("%s %s: %s", method.name, ",".join(name for *_, name in claims), results or failure)


def _result(response: Any, uid: str) -> str:
    if uid not in response.claims:
        return "no answer"
    return response.claims[uid].error or "ok"


def _go_name(code: grpc.StatusCode) -> str:
    """The status as Go and the kubelet's metrics spell it."""
    return "OK" if code is grpc.StatusCode.OK else "".join(part.capitalize() for part in code.name.split("_"))
