"""A first manifest, written from what was found; what cannot be known stands in it as a question, `# ?`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import yaml

from drivers.manifest import Feature, evidence

Object = dict[str, Any]
KUBELET_ROOT = "/var/lib/kubelet"
UNKNOWN = "unknown"
_WIDTH = 112


class NothingFound(Exception):
    """There is no driver where one was looked for; tells what is there, and the remedy."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value, or with entries of its own, and what is said above it; without a key just that.

    A key whose value is None stands there without one, so that loading tells that it is missing.
    """

    key: str
    value: Any = None
    says: tuple[str, ...] = ()


@dataclass(slots=True)
class Found:
    """A driver as it was found. `names` tells driver names, the surest first, and where each was seen."""

    namespace: str
    daemon_sets: list[Object]
    names: dict[str, str] = field(default_factory=dict)
    deployments: list[str] = field(default_factory=list)
    classes: list[Object] = field(default_factory=list)
    about_name: tuple[str, ...] = ()
    about_proof: tuple[str, ...] = ()


def driver_parts(objects: Sequence[Object], what: str) -> list[Object]:
    """The DaemonSets among objects that serve a driver. Raises NothingFound."""
    daemon_sets = [item for item in objects if item["kind"] == "DaemonSet"]
    found = [item for item in daemon_sets if evidence.serving(item)]
    if not found:
        there = ", ".join(item["metadata"]["name"] for item in daemon_sets) or "none at all"
        raise NothingFound(
            f"no DaemonSet {what} mounts the kubelet's directory of plugins; DaemonSets there: {there}\n"
            "Remedy: look elsewhere, or write the manifest by hand: drivers/catalog has examples."
        )
    return found


def named(daemon_sets: Sequence[Object], others: Sequence[Object]) -> dict[str, str]:
    """Driver names that DaemonSets tell their containers, then those in other objects."""
    names: dict[str, str] = {}
    for item in daemon_sets:
        for container in evidence.serving(item):
            names = {**evidence.own_names(item, container), **names}
    return {**names, **{name: where for name, where in evidence.names_in(others).items() if name not in names}}


def entries(found: Found, implementation: dict[str, str | None], install: Entry, extra: Sequence[Entry]) -> list[Entry]:
    """A manifest's keys, in the order in which one reads them."""
    served = {
        str(container["name"]): [name for name in evidence.own_names(item, container) if name in found.names]
        for item in found.daemon_sets
        for container in evidence.serving(item)
    }
    containers = evidence.shared_out(served, found.names)
    name = next(iter(containers.values()), None)
    return [
        Entry("apiVersion", "dra.conformance/v1alpha1"),
        Entry("kind", "DriverUnderTest"),
        _name(found, name, containers),
        _implementation(implementation),
        install,
        _workload(found, served, containers),
        _claim(found, name),
        _proof(found),
        *_features(found.daemon_sets),
        *_nodes(found.daemon_sets),
        *extra,
    ]


def text(title: str, parts: Sequence[Entry]) -> str:
    """The manifest as YAML."""
    how = "Drafted by `python -m drivers.manifest`: answer each `# ?`, then delete these comments."
    return "\n".join([*_comments((title, how)), *_lines(parts)]) + "\n"


def questions(written: str) -> int:
    """How many questions a draft asks."""
    return sum(line.lstrip().startswith("# ? ") for line in written.splitlines())


def _name(found: Found, name: str | None, containers: dict[str, str]) -> Entry:
    if name is None:
        says = "? Under which name does the driver publish its ResourceSlices? It was not seen anywhere."
        return Entry("name", None, (says,))
    others = [other for other in found.names if other != name]
    says = f"Seen in {found.names[name]}."
    if len(set(containers.values())) > 1:
        says = f"? {says} The package has several drivers: is it this one that is to be tested?"
    elif others:
        says = f"? {says} Or is it {', '.join(others)}?"
    return Entry("name", name, (says, *found.about_name))


def _implementation(known: dict[str, str | None]) -> Entry:
    asked = {"organization": "? Who makes the driver?", "version": "? Which version is it?", "url": "? Where is it?"}
    parts = [Entry(key, value or UNKNOWN, () if value else (asked[key],)) for key, value in known.items()]
    return Entry("implementation", parts)


def _workload(found: Found, served: dict[str, list[str]], containers: dict[str, str]) -> Entry:
    says: tuple[str, ...] = ()
    if not containers:
        containers = dict.fromkeys(served, "{name}")
    elif len(served) > 1:
        idle = [name for name in served if name not in containers]
        left = f" No driver is left for {', '.join(idle)}." if idle else ""
        says = (f"? Does each container serve that driver?{left}",)
    accounts = {evidence.pod_spec(item).get("serviceAccountName") or "default": None for item in found.daemon_sets}
    more = (f"? There are several: {', '.join(accounts)}.",) if len(accounts) > 1 else ()
    parts = [
        Entry("namespace", found.namespace),
        Entry("daemonSets", [item["metadata"]["name"] for item in found.daemon_sets]),
        Entry("serviceAccount", next(iter(accounts)), more),
        Entry("containers", containers, says),
    ]
    if found.deployments:
        parts.insert(2, Entry("deployments", found.deployments))
    return Entry("workload", parts)


def _claim(found: Found, name: str | None) -> Entry:
    classes = [item["metadata"]["name"] for item in found.classes if name and evidence.selects(item, name)]
    classes = classes or [item["metadata"]["name"] for item in found.classes]
    says: tuple[str, ...] = ()
    if not classes:
        how = "One that the cluster lacks can be written into a file that `install.files` names."
        says = (f"? Which DeviceClass selects the driver's devices? None was found. {how}",)
    elif len(classes) > 1:
        says = (f"? Or {', '.join(classes[1:])}?",)
    asked = "? Does a request for one device of this class get a usable one? Else: count, selectors, capacity, config."
    return Entry("claim", [Entry("deviceClassName", classes[0] if classes else None, says)], (asked,))


def _proof(found: Found) -> Entry:
    asked = (
        "? How does a container see which device it got? `env` matches the names of environment variables, and each of "
        "them holds `value`, with {driver}, {pool} and {device} from the allocation. This is a guess."
    )
    return Entry("proof", [Entry("env", ".*_DEVICE_.*"), Entry("value", "{device}")], (asked, *found.about_proof))


def _features(daemon_sets: Sequence[Object]) -> list[Entry]:
    used = [item for item in daemon_sets if (item.get("status") or {}).get("desiredNumberScheduled", 1)]
    surge = all(map(evidence.surges, used or daemon_sets))
    says = "maxSurge is declared." if surge else "? No maxSurge is declared: updates leave nodes without a driver."
    rolling = Entry("rolling-update", "supported" if surge else "unsupported", (says,))
    others = ", ".join(name for name in get_args(Feature) if name != rolling.key)
    more = f"? The others are unknown until you say `supported` or `unsupported`: {others}."
    return [Entry("features", [rolling], (more,))]


def _nodes(daemon_sets: Sequence[Object]) -> list[Entry]:
    """Where the driver's pods are, and what else their template tells."""
    spec = evidence.pod_spec(daemon_sets[0])
    found = []
    selector = {key: value for key, value in (spec.get("nodeSelector") or {}).items() if key != "kubernetes.io/os"}
    if selector:
        found.append(Entry("nodeSelector", selector))
    elif (spec.get("affinity") or {}).get("nodeAffinity"):
        says = "? The DaemonSet has a node affinity: by which label are the driver's nodes known? nodeSelector: {...}"
        found.append(Entry("", says=(says,)))
    tainted = [one for one in spec.get("tolerations") or () if _of_devices(one)]
    if tainted:
        tolerations = [{key: str(value) for key, value in one.items()} for one in tainted]
        asked = "? The driver tolerates these taints: are they on its nodes?"
        found.append(Entry("tolerations", tolerations, (asked,)))
    root = evidence.kubelet_root(daemon_sets[0])
    if root and root != KUBELET_ROOT:
        found.append(Entry("kubeletRoot", root))
    ports = [evidence.metrics_port(container) for container in evidence.serving(daemon_sets[0])]
    if port := next(filter(None, ports), None):
        found.append(Entry("metrics", {"port": port}))
    return found


def _of_devices(toleration: Object) -> bool:
    """Whether a toleration is for a taint that only nodes with devices have."""
    key = toleration.get("key") or ""
    return bool(key) and not key.startswith(("node-role.kubernetes.io/", "node.kubernetes.io/"))


def _lines(parts: Sequence[Entry]) -> list[str]:
    lines = []
    for part in parts:
        lines += _comments(part.says)
        if part.value is None:
            lines += [f"{part.key}:"] if part.key else []
        elif isinstance(part.value, list) and all(isinstance(one, Entry) for one in part.value):
            lines += [f"{part.key}:", *(f"  {line}" for line in _lines(part.value))]
        else:
            dumped = yaml.safe_dump([part.value], default_flow_style=True, sort_keys=False, width=math.inf)
            lines.append(f"{part.key}: {dumped.strip()[1:-1]}")
    return lines


def _comments(says: Sequence[str]) -> list[str]:
    wrapper = textwrap.TextWrapper(
        _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False, break_long_words=False
    )
    return [line for one in says for line in wrapper.wrap(one)]
