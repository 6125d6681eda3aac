"""A proxy before an API server that is slow, or fails now and then: `python proxy.py KUBECONFIG TARGET [--share S]`.

It shows the identity of KUBECONFIG (a client certificate) unless a request has a token, and writes TARGET, a kubeconfig
for the proxy, with the same identity for whatever is reached on another way. A share of the requests gets 429 or 500,
no answer at all, an answer that is lost after the request was carried out, or half an answer; each takes `--delay`
seconds longer. It serves until it is ended and then prints how many requests met which fate.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import collections
import contextlib
import json
import random
import signal
import ssl
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import yaml

FATES = ("429", "500", "unheard", "lost", "cut")
HEAD_LIMIT = 1 << 20
SOME = 200


class Proxy:
    """One connection carries one request: what happens to it is decided when its head has come."""

    def __init__(self, kubeconfig: Path, share: float, delay: float, seed: int) -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        self.shown = user
        self.server = urlsplit(cluster["server"])
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.nobody, self.user = (ssl.create_default_context(cadata=authority) for _ in range(2))
        with tempfile.NamedTemporaryFile() as file:
            file.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            file.flush()
            self.user.load_cert_chain(file.name)
        self.share, self.delay = share, delay
        self.chance = random.Random(seed)
        self.fates: collections.Counter[str] = collections.Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one request, or do not."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            head = await reader.readuntil(b"\r\n\r\n")
            fate = self.chance.choice(FATES) if self.chance.random() < self.share else "answered"
            self.fates[fate] += 1
            await asyncio.sleep(self.delay)
            if fate in ("429", "500"):
                writer.write(_status(int(fate)))
                await writer.drain()
            elif fate != "unheard":
                await self._carry(head, reader, writer, fate)
        writer.close()

    async def _carry(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fate: str) -> None:
        others = b"\r\nauthorization:" in head.lower()  # whoever shows a token is not the kubeconfig's user
        tls = self.nobody if others else self.user
        up_reader, up_writer = await asyncio.open_connection(self.server.hostname, self.server.port, ssl=tls)
        up_writer.write(_single(head, self.server.netloc))
        going = asyncio.create_task(_pipe(reader, up_writer))
        try:
            if fate == "lost":
                await up_reader.read(SOME)
            elif fate == "cut":
                writer.write(await up_reader.read(SOME))
                await writer.drain()
            else:
                await _pipe(up_reader, writer)
        finally:
            going.cancel()
            up_writer.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()


def _single(head: bytes, host: str) -> bytes:
    """The head of a request that is the last on its connection, unless it is to be upgraded to a stream."""
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    upgrades = any(line.lower().startswith("upgrade:") for line in lines)
    dropped = ("host:",) if upgrades else ("host:", "connection:")
    kept = [line for line in lines if not line.lower().startswith(dropped)]
    kept += [f"Host: {host}"] if upgrades else [f"Host: {host}", "Connection: close"]
    return "\r\n".join([first, *kept, "", ""]).encode("latin-1")


def _status(code: int) -> bytes:
    reason = {429: "TooManyRequests", 500: "InternalError"}[code]
    facts = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    body = json.dumps({**facts, "message": "the proxy's doing"}).encode()
    more = "Retry-After: 1\r\n" if code == 429 else ""
    head = f"HTTP/1.1 {code} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}{more}Connection: close\r\n\r\n".encode() + body


def _kubeconfig(port: int, user: dict[str, str]) -> str:
    cluster = {"server": f"http://127.0.0.1:{port}"}
    context = {"cluster": "proxy", "user": "proxy"}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": cluster}],
            "users": [{"name": "proxy", "user": user}],
            "contexts": [{"name": "proxy", "context": context}],
        }
    )


async def _main(asked: argparse.Namespace) -> None:
    proxy = Proxy(asked.kubeconfig, asked.share, asked.delay, asked.seed)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=HEAD_LIMIT)
    fresh = asked.target.with_suffix(".new")
    fresh.write_text(_kubeconfig(server.sockets[0].getsockname()[1], proxy.shown))
    fresh.rename(asked.target)
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    await over.wait()
    print(json.dumps(proxy.fates), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--share", type=float, default=0.0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(_main(parser.parse_args()))
