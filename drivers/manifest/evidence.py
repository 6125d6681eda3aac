"""What objects tell about a driver: which containers serve one, and under which name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Object = dict[str, Any]

_NAME = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?"
_PLUGINS = re.compile(r"^(?P<root>.*)/(plugins|plugins_registry)(/(?P<name>[^/]+))?/?$")
_VARIABLE = re.compile(r"(^|_)DRIVER_?NAME$")
_FLAG = re.compile(rf"(?<!\S)--?(dra-)?driver-?name[= ]['\"]?(?P<name>{_NAME})(?![\w$(])")
_CEL = (
    re.compile(rf"\bdriver\s*==\s*['\"](?P<name>{_NAME})['\"]"),
    re.compile(rf"['\"](?P<name>{_NAME})['\"]\s*==\s*[\w.]*\bdriver\b"),
)


def pod_spec(item: Object) -> Object:
    """The spec of the pods that a workload makes."""
    return ((item.get("spec") or {}).get("template") or {}).get("spec") or {}


def serving(daemon_set: Object) -> list[Object]:
    """The containers of a DaemonSet that mount the kubelet's directory of plugins."""
    spec = pod_spec(daemon_set)
    paths = {name for name, path in _host_paths(spec).items() if _PLUGINS.match(path)}
    found = [*(c for c in spec.get("initContainers") or () if c.get("restartPolicy")), *spec.get("containers", ())]
    return [c for c in found if paths & {mount["name"] for mount in c.get("volumeMounts") or ()}]


def kubelet_root(daemon_set: Object) -> str:
    """The kubelet's directory, as the pods mount parts of it."""
    found = filter(None, map(_PLUGINS.match, _host_paths(pod_spec(daemon_set)).values()))
    return next((match["root"] for match in found), "")


def own_names(daemon_set: Object, container: Object) -> dict[str, str]:
    """Driver names that a container is told, the surest first, and where each was seen."""
    found: dict[str, str] = {}
    where = f"container {container['name']}"
    for variable in container.get("env") or ():
        if _VARIABLE.search(variable["name"]) and re.fullmatch(_NAME, str(variable.get("value") or "")):
            found.setdefault(variable["value"], f"{variable['name']} of {where}")
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    for match in _FLAG.finditer(" ".join(map(str, words))):
        found.setdefault(match["name"], f"the arguments of {where}")
    volumes = _host_paths(pod_spec(daemon_set))
    for mount in container.get("volumeMounts") or ():
        path = _PLUGINS.match(volumes.get(mount["name"], "")) or _PLUGINS.match(mount["mountPath"])
        if path and "." in (path["name"] or ""):
            found.setdefault(path["name"], f"the directory that {where} mounts")
    return found


def names_in(objects: Iterable[Object]) -> dict[str, str]:
    """Driver names in the expressions and roles of objects, and where each was seen."""
    found: dict[str, str] = {}
    for item in objects:
        where = f"{item['kind']} {item['metadata']['name']}"
        for text in _strings(item):
            for match in (match for pattern in _CEL for match in pattern.finditer(text)):
                found.setdefault(match["name"], where)
        for rule in item.get("rules") or ():
            if isinstance(rule, dict) and "resourceclaims/driver" in (rule.get("resources") or ()):
                found.update({name: where for name in rule.get("resourceNames") or () if name not in found})
    return found


def shared_out(served: Mapping[str, Sequence[str]], names: Iterable[str]) -> dict[str, str]:
    """Which driver each container serves: one that it is told itself, else the one that is called most alike.

    `served` has the names that each container is told. A container for which no name is left has none.
    """
    given = {container: own[0] for container, own in served.items() if own}
    free = [name for name in names if name not in given.values()]
    pairs = [(c, name) for c in served if c not in given for name in free]
    for container, name in sorted(pairs, key=_likeness, reverse=True):
        if container not in given and name not in given.values():
            given[container] = name
    return {container: given[container] for container in served if container in given}


def selects(device_class: Object, driver: str) -> bool:
    """Whether a DeviceClass selects by the name of a driver."""
    return driver in names_in([device_class])


def surges(daemon_set: Object) -> bool:
    """Whether an update starts a node's new pod before the old one ends."""
    strategy = (daemon_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return str(strategy.get("maxSurge") or 0) not in ("0", "0%")


def metrics_port(container: Object) -> int | None:
    """The port under which a container serves metrics, if it says so by name."""
    ports = container.get("ports") or ()
    return next((port["containerPort"] for port in ports if "metrics" in port.get("name", "")), None)


def _likeness(pair: tuple[str, str]) -> float:
    container, name = pair
    return difflib.SequenceMatcher(None, container, name.partition(".")[0]).ratio()


def _host_paths(spec: Object) -> dict[str, str]:
    return {v["name"]: v["hostPath"]["path"] for v in spec.get("volumes") or () if "hostPath" in v}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
