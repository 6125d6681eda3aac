"""A node for the fake driver: an API server in memory behind real HTTP, a kubelet's calls over real Unix sockets."""

from __future__ import annotations

import json
import os
import queue
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
import pytest

from drivers.fake import rpc, sockets
from drivers.fake.driver import Driver
from drivers.fake.kube import RESOURCE_API, KubeApi
from drivers.fake.settings import Settings

Object = dict[str, Any]


class ApiServer:
    """Nodes, claims and slices in memory, with resource versions, conflicts and a watch."""

    def __init__(self) -> None:
        self.nodes: dict[str, Object] = {}
        self.claims: dict[tuple[str, str], Object] = {}
        self.slices: dict[str, Object] = {}
        self.writes: list[tuple[str, str]] = []
        self._version = 100
        self._closed = False
        self._events: list[tuple[int, Object]] = []
        self._watchers: list[queue.SimpleQueue[Object | None]] = []
        self._lock = threading.RLock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                query = parse_qs(url.query)
                if "watch" in query:
                    self._watch(int(query["resourceVersion"][0]))
                elif url.path == f"{RESOURCE_API}/resourceslices":
                    with api._lock:
                        items = list(api.slices.values())
                        self._send({"items": items, "metadata": {"resourceVersion": str(api._version)}})
                elif found := re.fullmatch(rf"{RESOURCE_API}/namespaces/(.+)/resourceclaims/(.+)", url.path):
                    self._send(api.claims.get((found[1], found[2])))
                else:
                    self._send(api.nodes.get(url.path.rpartition("/")[2]))

            def do_POST(self) -> None:
                body = self._body()
                with api._lock:
                    if body["metadata"]["name"] in api.slices:
                        self._send({"message": "it exists"}, 409)
                        return
                    body["metadata"]["uid"] = str(uuid.uuid4())
                    api.writes.append(("create", body["metadata"]["name"]))
                    self._send(api._store("ADDED", body), 201)

            def do_PUT(self) -> None:
                body = self._body()
                with api._lock:
                    stored = api.slices.get(body["metadata"]["name"])
                    if stored is None or stored["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
                        self._send({"message": "it has changed"}, 409)
                        return
                    api.writes.append(("update", body["metadata"]["name"]))
                    self._send(api._store("MODIFIED", body))

            def do_DELETE(self) -> None:
                name = self.path.rpartition("/")[2]
                api.writes.append(("delete", name))
                self._send(api.delete_slice(name))

            def _body(self) -> Object:
                body: Object = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                return body

            def _send(self, document: Object | None, status: int = 200) -> None:
                data = json.dumps({"message": "not found"} if document is None else document).encode()
                self.send_response(404 if document is None else status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _watch(self, version: int) -> None:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                events: queue.SimpleQueue[Object | None] = queue.SimpleQueue()
                with api._lock:
                    for _, missed in filter(lambda event: event[0] > version, api._events):
                        events.put(missed)
                    api._watchers.append(events)
                try:
                    while (event := events.get()) is not None:
                        line = json.dumps(event).encode() + b"\n"
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                    self.wfile.write(b"0\r\n\r\n")
                except OSError:
                    pass

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Go away; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        with self._lock:
            for watcher in self._watchers:
                watcher.put(None)
        self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._server.server_close()

    def delete_slice(self, name: str) -> Object | None:
        with self._lock:
            item = self.slices.pop(name, None)
            if item is not None:
                self._version += 1
                self._tell("DELETED", item)
            return item

    def change_slice(self, name: str, change: Callable[[Object], None]) -> None:
        with self._lock:
            item: Object = json.loads(json.dumps(self.slices[name]))
            change(item)
            self._store("MODIFIED", item)

    def _store(self, kind: str, item: Object) -> Object:
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        self.slices[item["metadata"]["name"]] = item
        self._tell(kind, item)
        return item

    def _tell(self, kind: str, item: Object) -> None:
        event = {"type": kind, "object": item}
        self._events.append((self._version, event))
        for watcher in self._watchers:
            watcher.put(event)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as the kubelet names it."""

    uid: str
    namespace: str
    name: str


def until(met: Callable[[], Any], seconds: float = 15.0) -> Any:
    """Wait until `met()` is truthy; returns what it is."""
    deadline = time.monotonic() + seconds
    while not (value := met()):
        assert time.monotonic() < deadline, "waited too long"
        threading.Event().wait(0.02)
    return value


PORTS = iter(random.sample(range(20_000, 32_000), 12_000))
"""Below those that the kernel gives to connections: nobody takes one between the look and its use."""


def free_port() -> int:
    for port in PORTS:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
    raise AssertionError("no free port")


@dataclass(slots=True)
class Instance:
    """A running driver, in this process or one of its own, and what the kubelet may ask of it."""

    settings: Settings
    driver: Driver | None = None
    process: subprocess.Popen[str] | None = None

    @property
    def seamless(self) -> bool:
        return self.settings.seamless and "fixed-sockets" not in self.settings.faults

    @property
    def service(self) -> Path:
        return sockets.service_socket(self.settings, self.seamless)

    @property
    def registration(self) -> Path:
        return sockets.registration_socket(self.settings, self.seamless)

    def get_info(self, timeout: float = 1.0) -> Any:
        with rpc.channel(str(self.registration)) as channel:
            return rpc.GET_INFO.stub(channel)(rpc.GET_INFO.request(), timeout=timeout)

    def notify(self, registered: bool = True, error: str = "") -> None:
        with rpc.channel(str(self.registration)) as channel:
            request = rpc.NOTIFY.request(plugin_registered=registered, error=error)
            rpc.NOTIFY.stub(channel)(request, timeout=5)

    def prepare(self, *claims: Claim, version: str = "v1.DRAPlugin", timeout: float = 10.0) -> dict[str, Any]:
        """The answers by claim UID."""
        return self._call(rpc.DRA_PLUGIN[version].prepare, claims, timeout)

    def unprepare(self, *claims: Claim, version: str = "v1.DRAPlugin", timeout: float = 10.0) -> dict[str, Any]:
        """The answers by claim UID."""
        return self._call(rpc.DRA_PLUGIN[version].unprepare, claims, timeout)

    def _call(self, method: rpc.Method, claims: tuple[Claim, ...], timeout: float) -> dict[str, Any]:
        entries = [{"uid": claim.uid, "namespace": claim.namespace, "name": claim.name} for claim in claims]
        with rpc.channel(str(self.service)) as channel:
            return dict(method.stub(channel)(method.request(claims=entries), timeout=timeout).claims)

    def watch_health(self, version: str = "v1.DRAResourceHealth") -> Iterator[dict[str, Any]]:
        """A stream of device health by device name."""
        watch = rpc.DRA_HEALTH[version].watch
        with rpc.channel(str(self.service)) as channel:
            for message in watch.stream_stub(channel)(watch.request(), timeout=20):
                yield {device.device.device_name: device for device in message.devices}

    def health(self, timeout: float = 5.0) -> str:
        """The answer to the liveness probe: a status, or the name of a gRPC error."""
        with grpc.insecure_channel(f"127.0.0.1:{self.settings.health_port}") as channel:
            try:
                answer = rpc.HEALTH_CHECK.stub(channel)(rpc.HEALTH_CHECK.request(), timeout=timeout)
            except grpc.RpcError as error:
                return str(error.code().name)
            return str(answer.ServingStatus.Name(answer.status))

    def http(self, path: str, document: Any = None) -> tuple[int, str]:
        """Status and body of a GET, or of a PUT when there is a document."""
        data = None if document is None else json.dumps(document).encode()
        url = f"http://127.0.0.1:{self.settings.admin_port}{path}"
        request = urllib.request.Request(url, data, method="GET" if data is None else "PUT")
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def inject(self, *rules: Object, planted: tuple[str, ...] = ()) -> None:
        status, body = self.http("/faults", {"planted": planted, "rules": rules})
        assert status == 200, body

    def journal(self) -> list[Object]:
        return [json.loads(line) for line in self.http("/journal")[1].splitlines()]

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def end(self) -> int:
        """Stop in good order; the exit code."""
        if self.driver is not None:
            self.driver.stop()
            self.driver = None
            return 0
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=15)


class Node:
    """The directories of a node, an API server that knows it, and the drivers that run on it."""

    name = "node-1"

    def __init__(self, root: Path, api: ApiServer) -> None:
        self.root = root
        self.api = api
        self.token = root / "token"
        self.token.write_text("secret")
        api.nodes[self.name] = {"metadata": {"name": self.name, "uid": "node-uid"}}
        self.running: list[Instance] = []
        self.until = until

    def settings(self, **changes: Any) -> Settings:
        base = Settings(
            driver_name="d.fake.dra",
            version="1.0.0",
            node_name=self.name,
            pod_uid=str(uuid.uuid4()),
            seamless=True,
            kubelet_root=self.root / "k",
            cdi_dir=self.root / "cdi",
            devices=4,
            services=("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"),
            health_port=free_port(),
            admin_port=free_port(),
            faults=(),
            labels={},
            shown_by_node=False,
        )
        return replace(base, **changes)

    def build(self, **changes: Any) -> Instance:
        """A driver in this process, not started."""
        settings = self.settings(**changes)
        return Instance(settings, Driver(settings, KubeApi(self.api.url, self.token, None)))

    def start(self, **changes: Any) -> Instance:
        """A driver in this process."""
        instance = self.build(**changes)
        assert instance.driver is not None
        instance.driver.start()
        self.running.append(instance)
        return instance

    def spawn(self, wait: bool = True, env: Mapping[str, str] | None = None, **changes: Any) -> Instance:
        """A driver in a process of its own, with more variables; by default it serves when this returns."""
        settings = self.settings(**changes)
        variables = {
            "DRIVER_NAME": settings.driver_name,
            "DRIVER_VERSION": settings.version,
            "NODE_NAME": settings.node_name,
            "POD_UID": settings.pod_uid,
            "SEAMLESS": str(settings.seamless).lower(),
            "KUBELET_ROOT": str(settings.kubelet_root),
            "CDI_DIR": str(settings.cdi_dir),
            "HEALTH_PORT": str(settings.health_port),
            "ADMIN_PORT": str(settings.admin_port),
            "FAULTS": ",".join(settings.faults),
            "API_SERVER": self.api.url,
            "TOKEN_FILE": str(self.token),
            **(env or {}),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "drivers.fake"], env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True
        )
        instance = Instance(settings, process=process)
        self.running.append(instance)
        if wait:
            until(lambda: instance.health() == "SERVING")
        return instance

    def claim(self, *devices: str, name: str = "", namespace: str = "default", **result: Any) -> Claim:
        """An allocated claim with one request per device."""
        claim = Claim(str(uuid.uuid4()), namespace, name or f"claim-{len(self.api.claims)}")
        results = [
            {"driver": "d.fake.dra", "pool": self.name, "device": device, "request": f"r{index}", **result}
            for index, device in enumerate(devices)
        ]
        self.api.claims[(namespace, claim.name)] = {
            "metadata": {"uid": claim.uid, "name": claim.name, "namespace": namespace},
            "status": {"allocation": {"devices": {"results": results}}} if devices else {},
        }
        return claim

    def sockets(self) -> set[str]:
        """The names of all sockets of drivers."""
        return {path.name for path in (self.root / "k").rglob("*") if path.is_socket()}

    def cdi_files(self) -> list[Path]:
        return sorted((self.root / "cdi").glob("*.json"))

    def environment(self, answer: Any) -> dict[str, str]:
        """What a container gets by the CDI ids of an answer to prepare."""
        specs = [json.loads(path.read_text()) for path in self.cdi_files()]
        edits = {f"{spec['kind']}={d['name']}": d["containerEdits"]["env"] for spec in specs for d in spec["devices"]}
        ids = [cdi_id for device in answer.devices for cdi_id in device.cdi_device_ids]
        return dict(variable.split("=", 1) for cdi_id in ids for variable in edits[cdi_id])

    def pool(self, slices: int = 1, driver: str = "d.fake.dra") -> list[Object]:
        """The specs of the pool's slices, by name, once there are so many."""
        until(lambda: len(self.api.slices) == slices)
        return [item["spec"] for _, item in sorted(self.api.slices.items()) if item["spec"]["driver"] == driver]

    def close(self) -> None:
        for instance in self.running:
            if instance.driver is not None:
                instance.driver.stop()
            if instance.process is not None:
                instance.process.kill()
                instance.process.communicate()


@pytest.fixture
def node() -> Iterator[Node]:
    """A node without a driver. Its directory has a short name: a socket's path is limited."""
    with (
        tempfile.TemporaryDirectory(prefix="n", dir="/tmp") as root,
        closing(ApiServer()) as api,
        closing(Node(Path(root), api)) as node,
    ):
        yield node
