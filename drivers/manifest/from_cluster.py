"""A first manifest from a cluster in which the driver runs: its DaemonSets, slices and DeviceClasses tell most."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import urllib3.exceptions
from kubernetes import config
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError

from drivers.manifest import evidence
from drivers.manifest.draft import Entry, Found, NothingFound, driver_parts, entries, named, text

Object = dict[str, Any]
List = Callable[[str, str], list[Object]]
"""Lists objects: a path of the API below which they are, and their kind."""
_TIMES = (5, 30)
"""Seconds to connect, and to answer."""
_ATTRIBUTES = 20


class NoAccess(Exception):
    """The cluster cannot be asked; tells why, and the remedy."""


def lists_of(context: str) -> List:
    """Access as kubectl has it, in a context or the current one. Raises NoAccess, and so does each use."""
    try:
        api: Any = config.new_client_from_config(context=context or None)  # type: ignore[no-untyped-call]
    except (config.ConfigException, OSError) as error:
        remedy = "`kubectl config get-contexts` lists the contexts, and KUBECONFIG names another file"
        raise NoAccess(f"{error}\nRemedy: {remedy}.") from error
    api.configuration.retries = 0
    client: Any = DynamicClient(api, discoverer=lambda _client, _cache: None)  # type: ignore[no-untyped-call]

    def listed(path: str, kind: str) -> list[Object]:
        try:
            answer = client.request("get", path, serialize=False, _request_timeout=_TIMES)
        except (DynamicApiError, urllib3.exceptions.HTTPError) as error:
            reason = getattr(error, "reason", None) or error
            remedy = "look whether kubectl can do that in this context"
            raise NoAccess(f"{api.configuration.host} does not list {path}: {reason}\nRemedy: {remedy}.") from error
        return [{"kind": kind, **item} for item in json.loads(answer.data)["items"]]

    return listed


def drafted(namespace: str, listed: List) -> str:
    """The manifest of the driver that runs in a namespace.

    Raises:
        NoAccess: the cluster does not answer, or not this.
        NothingFound: no driver is there.
    """
    apps = f"/apis/apps/v1/namespaces/{namespace}"
    daemon_sets = driver_parts(listed(f"{apps}/daemonsets", "DaemonSet"), f"in the namespace {namespace}")
    slices = _slices_of(daemon_sets, namespace, listed)
    published = {item["spec"]["driver"]: f"ResourceSlice {item['metadata']['name']}" for item in slices}
    told = named(daemon_sets, [])
    if known := [item for item in daemon_sets if not published or published.keys() & named([item], []).keys()]:
        daemon_sets = known  # others, such as those of CSI drivers, serve none that has slices
    names = {name: where for name, where in told.items() if name in published} or published or told
    classes = listed("/apis/resource.k8s.io/v1/deviceclasses", "DeviceClass")
    found = Found(
        namespace=namespace,
        daemon_sets=daemon_sets,
        names={**names, **published},
        classes=[item for item in classes if any(evidence.selects(item, name) for name in names)],
        about_proof=_devices(slices, next(iter(names), "")),
        about_name=() if published else ("? No ResourceSlice is on the nodes of its pods: is it at work?",),
    )
    extra = []
    if counts := _per_node(slices, next(iter(names), "")):
        extra.append(Entry("devicesPerNode", min(counts), ("Nodes have " + ", ".join(map(str, sorted(counts))) + ".",)))
    install = Entry("install", {"kind": "preinstalled"})
    return text(f"The driver in the namespace {namespace}.", entries(found, _made_by(daemon_sets), install, extra))


def _slices_of(daemon_sets: list[Object], namespace: str, listed: List) -> list[Object]:
    """The slices on the nodes on which pods of these DaemonSets are."""
    owners = {item["metadata"]["uid"] for item in daemon_sets}
    pods = listed(f"/api/v1/namespaces/{namespace}/pods", "Pod")
    mine = [pod for pod in pods if owners & {one["uid"] for one in pod["metadata"].get("ownerReferences") or ()}]
    nodes = {pod["spec"].get("nodeName") for pod in mine}
    slices = listed("/apis/resource.k8s.io/v1/resourceslices", "ResourceSlice")
    return [item for item in slices if item["spec"].get("nodeName") in nodes]


def _made_by(daemon_sets: list[Object]) -> dict[str, str | None]:
    """What labels and images tell of who made the driver."""
    labels = daemon_sets[0]["metadata"].get("labels") or {}
    image = evidence.serving(daemon_sets[0])[0]["image"].partition("@")[0]
    repository, _, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "")
    return {
        "organization": None,
        "project": labels.get("app.kubernetes.io/name") or repository.rpartition("/")[2],
        "version": labels.get("app.kubernetes.io/version") or tag or None,
        "url": None,
    }


def _per_node(slices: list[Object], driver: str) -> set[int]:
    """How many devices of a driver nodes have."""
    counts: Counter[str] = Counter()
    for item in slices:
        if item["spec"]["driver"] == driver:
            counts[item["spec"]["nodeName"]] += len(item["spec"].get("devices") or ())
    return set(counts.values()) - {0}


def _devices(slices: list[Object], driver: str) -> tuple[str, ...]:
    """One device with all that is published of it, to help with writing the proof."""
    found = [item["spec"] for item in slices if item["spec"]["driver"] == driver and item["spec"].get("devices")]
    if not found:
        return ()
    spec = found[0]
    device = spec["devices"][0]
    lines = [f"One of its devices is {device['name']} of pool {spec['pool']['name']}, with"]
    attributes = {key: next(iter(value.values())) for key, value in (device.get("attributes") or {}).items()}
    capacity = {f"capacity {key}": value["value"] for key, value in (device.get("capacity") or {}).items()}
    lines += [f"  {key}: {value}" for key, value in sorted({**attributes, **capacity}.items())[:_ATTRIBUTES]]
    return tuple(lines)


__all__ = ["NoAccess", "NothingFound", "drafted", "lists_of"]
