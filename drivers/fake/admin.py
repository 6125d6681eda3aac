"""The HTTP admin endpoint for the test suite, which reaches it through the API server's pod proxy.

* `GET /metrics`.
* `GET /ready`: 200 once the kubelet has registered the driver, which is waited for a little, else 503; a JSON object
  that tells who this is.
* `GET /journal`: JSON lines, see `journal`.
* `GET` and `PUT /faults`: `{"planted": [ids], "rules": [...]}`, see `faults` and `injection`; for this process only.
* `GET` and `PUT /devices`: see `devices`; for all instances on the node.

A PUT replaces the whole document and answers with the one in force; 400 tells what is wrong with it.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json"
JSON_LINES = "application/jsonl"
TEXT = "text/plain; version=0.0.4; charset=utf-8"

OK, BAD_REQUEST, NOT_FOUND, UNAVAILABLE = 200, 400, 404, 503


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send back."""

    status: int
    media_type: str
    body: bytes

    @classmethod
    def json(cls, document: Any, status: int = OK) -> Answer:
        """An answer with a document."""
        return cls(status, JSON, json.dumps(document).encode() + b"\n")


Get = Callable[[], Answer]
Put = Callable[[Any], Answer]
"""Takes the document; raises ValueError to refuse it."""


class AdminServer:
    """Serves the given functions by path, on all addresses."""

    def __init__(self, port: int, gets: dict[str, Get], puts: dict[str, Put]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                get = gets.get(self.path)
                self._send(get() if get else Answer.json({"error": f"paths are {', '.join(gets)}"}, NOT_FOUND))

            def do_PUT(self) -> None:
                put = puts.get(self.path)
                if put is None:
                    self._send(Answer.json({"error": f"paths to PUT are {', '.join(puts)}"}, NOT_FOUND))
                    return
                try:
                    answer = put(json.loads(self._body()))
                except (ValueError, TypeError, AttributeError) as error:
                    answer = Answer.json({"error": str(error)}, BAD_REQUEST)
                self._send(answer)

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", "0")))
                chunks = []
                while size := int(self.rfile.readline(), 16):
                    chunks.append(self.rfile.read(size))
                    self.rfile.readline()
                return b"".join(chunks)

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.media_type)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing: probes come every few seconds."""

        self._server = ThreadingHTTPServer(("", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="admin", daemon=True)

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        # Wakes the serving thread, which would look for the end only twice a second.
        self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._server.server_close()
