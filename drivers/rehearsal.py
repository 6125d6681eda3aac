"""Rendering a driver before anything is made: what its package lacks is told at once, and with what there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from jinja2 import TemplateError

from drivers.images import containers
from drivers.install import Instance, render
from drivers.manifest import DriverManifest
from drivers.packages import PackageError

Object = dict[str, Any]


def rehearse(manifest: DriverManifest, kubernetes: str = "") -> None:
    """Render both versions of a driver, and look for everything that `workload` names.

    `kubernetes` is the version that charts are told, if it is known. A DeviceClass need not be there: it may be in the
    cluster.

    Raises:
        PackageError: something is not rendered; tells what is wrong, and what is there instead.
    """
    if manifest.preinstalled:
        return
    version = manifest.implementation.version
    first = Instance(manifest, id="rehearsal", run="run", version=version, node_selector={}, kubernetes=kubernetes)
    for one in dict.fromkeys((first.version, first.upgraded().version)):
        instance = first if one == first.version else first.upgraded()
        if lacking := list(absent(instance, _rendered(instance))):
            raise PackageError("\n".join(f"version {one}: {text}" for text in lacking))


def _rendered(instance: Instance) -> list[Object]:
    try:
        objects = render(instance)
    except (TemplateError, yaml.YAMLError) as error:
        files = ", ".join(map(str, instance.manifest.package(instance.version).files))
        raise PackageError(f"version {instance.version} cannot be rendered ({files}): {error}") from error
    return objects


def absent(instance: Instance, objects: list[Object]) -> Iterator[str]:
    """What `workload` names and no object is or has, in sentences with what there is."""
    workload = instance.manifest.workload
    deployments = [name.format(**instance.names) for name in workload.deployments]
    yield from _missing("daemonSets", "DaemonSet", instance.daemon_sets, _names(objects, "DaemonSet"))
    yield from _missing("deployments", "Deployment", deployments, _names(objects, "Deployment"))
    used = [account for item in objects if (account := _account(item))]
    accounts = [*_names(objects, "ServiceAccount"), *used]
    yield from _missing("serviceAccount", "ServiceAccount", [instance.service_account], accounts)
    mine = [item for item in objects if item["kind"] == "DaemonSet"]
    mine = [item for item in mine if item["metadata"]["name"] in instance.daemon_sets]
    found = [container["name"] for container in containers(mine)]
    if mine:
        yield from _missing("containers", "container of the DaemonSets", instance.drivers, found)


def _missing(key: str, kind: str, wanted: Iterable[str], there: Iterable[str]) -> Iterator[str]:
    known = sorted(set(there))
    for name in wanted:
        if name not in known:
            instead = f"there are: {', '.join(known)}" if known else "there is none at all"
            yield f"`workload.{key}`: no {kind} is called {name!r}; {instead}"


def _names(objects: list[Object], kind: str) -> list[str]:
    return [item["metadata"]["name"] for item in objects if item["kind"] == kind]


def _account(item: Object) -> str:
    """The ServiceAccount of pods that have a template."""
    template = (item.get("spec") or {}).get("template") or {}
    return str((template.get("spec") or {}).get("serviceAccountName") or "")
