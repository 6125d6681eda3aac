"""What a healthy driver does at each point where a planted fault may do something else.

The parts of the driver ask the current behaviour; a fault is a subclass that overrides one method or few. Several
faults are combined by inheriting from all of them, so each method is a small decision, not a piece of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import grpc

from drivers.fake import sockets
from drivers.fake.cdi import CdiDirectory, variable
from drivers.fake.health import HealthServer, LocalHealthServer, SocketCheck
from drivers.fake.settings import Settings
from drivers.fake.state import FileStore, HeldDevice, Store

if TYPE_CHECKING:
    from drivers.fake.kube import Object
    from drivers.fake.metrics import Metrics
    from drivers.fake.pool import Pool, PoolChanges


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Where a process of the driver runs, and what it shares there with the node's other instances.

    `service` and `registration` are its own sockets, `lock` guards those of all.
    """

    settings: Settings
    service: Path
    registration: Path
    lock: Path
    store: Store
    cdi: CdiDirectory

    def sockets_of_others(self) -> list[Path]:
        """The sockets of this driver's other instances on the node, living and dead."""
        return [path for path in sockets.of_driver(self.settings) if path not in (self.service, self.registration)]


class Publisher(Protocol):
    """What publishes the node's slices."""

    def delete_all(self) -> None:
        """Delete every slice of this driver on this node."""


class Behaviour:
    """A healthy driver."""

    def on_start(self, files: NodeFiles) -> None:
        """The process is about to serve."""
        sockets.remove_stale(files.settings, files.lock)

    def seamless(self, settings: Settings) -> bool:
        """Whether the pod UID is part of the socket names."""
        return settings.seamless

    def listen(self, server: grpc.Server, path: Path, lock: Path) -> sockets.Listener:
        """Start a server on a socket."""
        return sockets.listen(server, path, lock)

    def store(self, path: Path, file_format: int) -> Store:
        """Where prepared claims are remembered."""
        return FileStore(path, file_format)

    def health_server(self, port: int, serving: Callable[[], bool]) -> HealthServer:
        """What answers the health probe."""
        return LocalHealthServer(port, serving)

    def serving(self, check: SocketCheck) -> bool:
        """The health answer; `check` calls the driver's own sockets."""
        return check()

    def ready(self, registered: Callable[[], bool]) -> bool:
        """The readiness answer; `registered` waits a little for the kubelet."""
        return registered()

    def before_get_info(self, registered: bool, age: float) -> None:
        """Somebody asks who we are, `age` seconds after the start; may raise RpcError."""

    def on_registered(self, files: NodeFiles) -> None:
        """The kubelet says that it has registered the driver."""

    def pool_name(self, settings: Settings) -> str:
        """The name of the node's pool."""
        return settings.node_name

    def slice_count(self, count: int) -> int:
        """The number of slices that the pool is said to have."""
        return count

    def owners(self, node: Object) -> list[Object]:
        """The owner references of slices; `node` is the one to the Node."""
        return [node]

    def amend(self, changes: PoolChanges, pool: Pool, existing: Sequence[Object], owners: list[Object]) -> PoolChanges:  # noqa: ARG002
        """A last word on what is written to the API server."""
        return changes

    def turn(self) -> AbstractContextManager[object]:
        """Held while a call is served."""
        return nullcontext()

    def before_prepare(self) -> None:
        """A claim is about to be prepared; no lock is held."""

    def excludes(self, wanted: HeldDevice, held: HeldDevice) -> bool:
        """Whether a device that another claim holds stands in the way of a claim."""
        return wanted.excludes(held)

    def environment(self, driver: str, device: HeldDevice, all_devices: Sequence[str]) -> dict[str, str]:  # noqa: ARG002
        """The variables that a container with this device gets; `all_devices` are the names of the node's devices."""
        name, value = variable(driver, device.pool, device.device)
        return {name: value}

    def request_names(self, names: Sequence[str]) -> Sequence[str]:
        """The requests that the kubelet is told a device belongs to."""
        return names

    def frees_device(self, claim_uid: str) -> bool:  # noqa: ARG002
        """Whether unprepare lets go of the claim's devices."""
        return True

    def removes_cdi(self, known: bool) -> bool:  # noqa: ARG002
        """Whether unprepare removes the claim's CDI file; `known` tells if the claim was remembered."""
        return True

    def before_stop(self) -> None:
        """The driver is told to stop, and still serves."""

    def on_stop(self, publisher: Publisher) -> None:
        """The driver has stopped in good order."""

    def metrics_text(self, metrics: Metrics) -> bytes:
        """What is exposed at /metrics."""
        return metrics.text()
