"""Commands in containers: how their end is heard, and that nothing stays open after it."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from kubernetes import client

from fixtures.kube.api import Kube
from fixtures.kube.exec import Done, Unheard, execute

STATUS, STDOUT = b"\x03", b"\x01"
BINARY, CLOSE = 0x82, 0x88
GOOD = STATUS + json.dumps({"status": "Success"}).encode()
CAUSE = {"reason": "ExitCode", "message": "7"}
BAD = STATUS + json.dumps({"reason": "NonZeroExitCode", "details": {"causes": [CAUSE]}}).encode()


def frame(kind: int, payload: bytes) -> bytes:
    return bytes([kind, 126]) + len(payload).to_bytes(2) + payload


@pytest.fixture
def answered() -> Iterator[Callable[..., Kube]]:
    """Access to an API server that answers an exec request with some frames and then ends the connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    servers: list[threading.Thread] = []

    def serve(frames: bytes) -> None:
        peer, _ = listener.accept()
        with peer:
            head = b""
            while b"\r\n\r\n" not in head:
                head += peer.recv(4096)
            (key,) = (line.split()[1] for line in head.splitlines() if line.lower().startswith(b"sec-websocket-key"))
            digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11", usedforsecurity=False).digest()
            accepted = b"Sec-WebSocket-Accept: " + base64.b64encode(digest)
            upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n"
            peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\n" + upgrade + accepted + b"\r\n\r\n" + frames)
            while peer.recv(4096):
                pass

    def start(*frames: bytes) -> Kube:
        servers.append(threading.Thread(target=serve, args=(b"".join(frames),)))
        servers[-1].start()
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{listener.getsockname()[1]}"
        return Kube(configuration, "test")

    yield start
    for server in servers:
        server.join(5)
        assert not server.is_alive(), "the connection stayed open"
    listener.close()


def run(kube: Kube) -> Done:
    return execute(kube, "pod", "space", "main", ["sh"], 5)


@pytest.mark.parametrize(("status", "code"), [(GOOD, 0), (BAD, 7)])
def test_a_command_that_ended_tells_its_code_and_what_it_said(
    answered: Callable[..., Kube], status: bytes, code: int
) -> None:
    kube = answered(frame(BINARY, STDOUT + b"said"), frame(BINARY, status), frame(CLOSE, b"\x03\xe8"))
    assert run(kube) == Done(code, "said", "")


def test_a_stream_that_broke_off_tells_nothing(answered: Callable[..., Kube]) -> None:
    with pytest.raises(Unheard):
        run(answered(frame(BINARY, STDOUT + b"half"), frame(CLOSE, b"\x03\xe8")))
