"""The few requests that the driver makes to the API server.

They go through urllib3 rather than the official client: that costs each process a second of start and half of its
memory on the oldest supported release, and its models drop fields that they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import urllib3

from drivers.fake.settings import SettingsError

Object = dict[str, Any]

RESOURCE_API = "/apis/resource.k8s.io/v1"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_TIMEOUT = urllib3.Timeout(connect=5, read=10)
_RETRIES = urllib3.Retry(connect=2, read=0, redirect=0, backoff_factor=0.2)
_WATCH_SECONDS = 240
_CHUNK = 65536


class ApiError(Exception):
    """The API server refused a request, or could not be asked (status 0)."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class SliceWatch(Protocol):
    """A stream of changes of ResourceSlices."""

    def __iter__(self) -> Iterator[tuple[str, Object]]:
        """Pairs of `ADDED`, `MODIFIED` or `DELETED` and the object, until the server or `close` ends it."""

    def close(self) -> None:
        """End the iteration; callable from another thread."""


class Api(Protocol):
    """What the driver needs from the API server; every method may raise ApiError."""

    def node(self, name: str) -> Object:
        """A Node."""

    def claim(self, namespace: str, name: str) -> Object:
        """A ResourceClaim."""

    def slices(self, driver: str, node: str) -> tuple[list[Object], str]:
        """The ResourceSlices of a driver on a node, and the resource version at which they were listed."""

    def watch_slices(self, driver: str, node: str, version: str) -> SliceWatch:
        """What happens to them after that version."""

    def create_slice(self, body: Object) -> Object:
        """Create a ResourceSlice; returns it as stored."""

    def update_slice(self, body: Object) -> Object:
        """Replace a ResourceSlice, if it still has the resource version of `body`; returns it as stored."""

    def delete_slice(self, name: str) -> None:
        """Delete a ResourceSlice; one that is gone already is no error."""


class KubeApi:
    """The API server at `url`, trusted through the certificate authority in `ca`, asked with the token in a file."""

    def __init__(self, url: str, token: Path, ca: Path | None) -> None:
        self._url = url
        self._token = token
        self._pool = urllib3.PoolManager(ca_certs=ca and str(ca), timeout=_TIMEOUT, retries=_RETRIES, maxsize=4)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> KubeApi:
        """The API server that API_SERVER (a URL), TOKEN_FILE and CA_FILE name; without them that of this pod's cluster.

        Raises:
            SettingsError: neither is told.
        """
        try:
            if url := env.get("API_SERVER"):
                return cls(url, Path(env["TOKEN_FILE"]), Path(env["CA_FILE"]) if url.startswith("https:") else None)
            host, port = env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]
        except KeyError as error:
            raise SettingsError(
                f"{error.args[0]} is not set; outside a pod: API_SERVER, TOKEN_FILE, CA_FILE"
            ) from error
        host = f"[{host}]" if ":" in host else host
        return cls(f"https://{host}:{port}", SERVICE_ACCOUNT / "token", SERVICE_ACCOUNT / "ca.crt")

    def node(self, name: str) -> Object:
        """See Api."""
        return self._ask("GET", f"/api/v1/nodes/{name}")

    def claim(self, namespace: str, name: str) -> Object:
        """See Api."""
        return self._ask("GET", f"{RESOURCE_API}/namespaces/{namespace}/resourceclaims/{name}")

    def slices(self, driver: str, node: str) -> tuple[list[Object], str]:
        """See Api."""
        found = self._ask("GET", _slices_path(driver, node))
        return found.get("items") or [], found["metadata"]["resourceVersion"]

    def watch_slices(self, driver: str, node: str, version: str) -> SliceWatch:
        """See Api."""
        path = _slices_path(driver, node, watch="true", resourceVersion=version, timeoutSeconds=str(_WATCH_SECONDS))
        timeout = urllib3.Timeout(connect=5, read=_WATCH_SECONDS + 10)
        return _Watch(self._send("GET", path, stream=True, timeout=timeout))

    def create_slice(self, body: Object) -> Object:
        """See Api."""
        return self._ask("POST", f"{RESOURCE_API}/resourceslices", body)

    def update_slice(self, body: Object) -> Object:
        """See Api."""
        return self._ask("PUT", f"{RESOURCE_API}/resourceslices/{body['metadata']['name']}", body)

    def delete_slice(self, name: str) -> None:
        """See Api."""
        try:
            self._ask("DELETE", f"{RESOURCE_API}/resourceslices/{name}")
        except ApiError as error:
            if error.status != 404:
                raise

    def _ask(self, verb: str, path: str, body: Object | None = None) -> Object:
        answer: Object = json.loads(self._send(verb, path, body).data)
        return answer

    def _send(
        self,
        verb: str,
        path: str,
        body: Object | None = None,
        *,
        stream: bool = False,
        timeout: urllib3.Timeout = _TIMEOUT,
    ) -> urllib3.BaseHTTPResponse:
        # The kubelet renews the token in its file, so it is read anew.
        headers = {"Authorization": f"Bearer {self._token.read_text()}", "Accept": "application/json"}
        try:
            response = self._pool.request(
                verb, self._url + path, headers=headers, json=body, preload_content=not stream, timeout=timeout
            )
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(0, f"{verb} {path}: {error}") from error
        if response.status >= 400:
            raise ApiError(response.status, f"{verb} {path}: {response.status} {_message(response.data)}")
        return response


class _Watch:
    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response

    def __iter__(self) -> Iterator[tuple[str, Object]]:
        buffer = b""
        try:
            while chunk := self._response.read1(_CHUNK):
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in filter(None, lines):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise ApiError(event["object"].get("code", 0), event["object"].get("message", "watch failed"))
                    yield event["type"], event["object"]
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(0, f"watch: {error}") from error
        finally:
            self._response.close()

    def close(self) -> None:
        # A response that has ended by itself has no connection any more, and says so by an exception.
        with suppress(RuntimeError, ValueError):
            self._response.shutdown()


def _slices_path(driver: str, node: str, **options: str) -> str:
    query = {"fieldSelector": f"spec.driver={driver},spec.nodeName={node}", **options}
    return f"{RESOURCE_API}/resourceslices?{urlencode(query)}"


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode(errors="replace")
