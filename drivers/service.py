"""The fake driver outside pods: as a systemd service of a node, restarted by a watchdog that its health answer feeds.

Everything is plain data here. Who has a way onto the node proceeds in this order:

1. Create the namespace and `objects`.
2. Request a token of the instance's ServiceAccount that is bound to the Node (TokenRequest with `boundObjectRef`
   `{apiVersion: v1, kind: Node, name, uid}`). It names the node, as that of a pod does, so the same
   ValidatingAdmissionPolicy lets the service write the slices of this node only.
3. Write `Service.files`, then `systemctl daemon-reload` and `systemctl start UNIT`, which returns once the driver is
   registered. At the end `systemctl stop UNIT`, and remove the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from jinja2 import Environment, StrictUndefined

from drivers.install import Instance, Object, archive, render, variables

UNIT_TEMPLATE = Path(__file__).parent / "fake" / "manifests" / "driver.service.j2"
UNITS = PurePosixPath("/etc/systemd/system")
HOME = PurePosixPath("/var/lib/dra-conformance")


@dataclass(frozen=True, slots=True)
class Access:
    """How the service reaches the API server: its URL as seen from the node, CA certificates (PEM), and a token."""

    server: str
    ca: str
    token: str


@dataclass(frozen=True, slots=True)
class NodeFile:
    """A file on a node."""

    path: PurePosixPath
    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Service:
    """A systemd service: its unit's name, its directory on the node, and its files: those in there, and the unit."""

    unit: str
    directory: PurePosixPath
    files: tuple[NodeFile, ...]


def objects(instance: Instance) -> list[Object]:
    """The objects of an instance that runs as a service: all but its DaemonSets and the code for their pods."""
    return [item for item in render(instance) if item["kind"] not in ("DaemonSet", "ConfigMap")]


def render_unit(instance: Instance, node: str, access: Access, overlay: Callable[[str], str] | None = None) -> Service:
    """The service of an instance of the fake driver on a node; an overlay changes the text of its unit.

    It is never seamless, whatever the instance says: nothing overlaps, so its sockets are named by the driver alone.
    Raises ValueError for a driver that has no Python code of its own.
    """
    if instance.manifest.install.code is None:
        raise ValueError(f"{instance.manifest.implementation.project} has no code to run as a service")
    unit, directory = f"{instance.names['prefix']}.service", HOME / instance.id
    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    text = environment.from_string(UNIT_TEMPLATE.read_text()).render(
        variables(instance),
        node=node,
        kubelet_root=instance.manifest.kubelet_root,
        server=access.server,
        directory=directory,
    )
    files = (
        NodeFile(directory / "code.zip", archive(instance.manifest.install.code)),
        NodeFile(directory / "ca.crt", access.ca.encode()),
        NodeFile(directory / "token", access.token.encode(), 0o600),
        NodeFile(UNITS / unit, (overlay(text) if overlay else text).encode()),
    )
    return Service(unit, directory, files)


def without_supervision(unit_text: str) -> str:
    """An overlay: nobody watches the service, and nobody restarts it."""
    return re.sub(r"^(WatchdogSec|Restart|RestartSec)=.*\n", "", unit_text, flags=re.MULTILINE)
