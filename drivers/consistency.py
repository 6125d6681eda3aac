"""What a driver manifest says in one place must fit what it says in another: who installs the driver, and its names."""

from __future__ import annotations

from collections.abc import Iterator

from drivers.manifest import DriverManifest, varies

Location = list[str | int]
_NEEDS = {"fake": "files", "manifest": "files", "helm": "chart", "kustomize": "directory"}
_WHAT = {"files": "the templates", "chart": "the Helm chart", "directory": "the directory of the kustomization"}
_ALLOWS = {
    "fake": {"files", "code"},
    "manifest": {"files", "code"},
    "helm": {"chart", "values", "set", "release", "files"},
    "kustomize": {"directory", "files"},
    "preinstalled": set[str](),
}


def contradictions(manifest: DriverManifest) -> Iterator[tuple[Location, str]]:
    """Each contradiction: where it stands, and what is wrong, with the key in backticks."""
    yield from _of_the_package(manifest)
    served = list(manifest.workload.containers.values())
    if manifest.name not in served and "{name}" not in served:
        text = f"no container serves {manifest.name}: {', '.join(served)}"
        yield ["workload", "containers"], f"`workload.containers`: {text}"
    if manifest.preinstalled and varies(manifest.name):
        yield ["name"], f"`name`: {manifest.name!r} varies, yet the names of a preinstalled driver are fixed"
    elif manifest.shared:
        yield from _of_fixed_names(manifest)
    elif manifest.workload.namespace is not None:
        yield ["workload", "namespace"], "`workload.namespace`: each check installs the driver into one of its own"


def _of_the_package(manifest: DriverManifest) -> Iterator[tuple[Location, str]]:
    install, upgrade = manifest.install, manifest.upgrade
    kind = install.kind
    for key in sorted(install.model_fields_set - _ALLOWS[kind] - {"kind"}):
        why = "that is there already: nothing is installed" if manifest.preinstalled else f"of kind {kind} has none"
        yield ["install", key], f"`install.{key}`: a driver {why}"
    needed = _NEEDS.get(kind)
    if needed and not getattr(install, needed):
        yield ["install", needed], f"missing key `install.{needed}`: {_WHAT[needed]} of a driver of kind {kind}"
    if upgrade and manifest.preinstalled:
        yield ["upgrade"], "`upgrade`: a preinstalled driver is rolled out in its own version again, it has no other"
    elif upgrade:
        for key in sorted(upgrade.model_fields_set - _ALLOWS[kind] - {"version", "image"}):
            yield ["upgrade", key], f"`upgrade.{key}`: a driver of kind {kind} has none"
        if upgrade.version == manifest.implementation.version:
            yield ["upgrade", "version"], f"`upgrade.version`: {upgrade.version} is the version that is installed first"


def _of_fixed_names(manifest: DriverManifest) -> Iterator[tuple[Location, str]]:
    workload = manifest.workload
    if workload.namespace is None:
        yield ["workload"], "missing key `workload.namespace`: that of the driver's pods, since its name is fixed"
    names: list[tuple[Location, str]] = [(["claim", "deviceClassName"], manifest.claim.device_class_name)]
    names += [(["workload", "daemonSets", index], name) for index, name in enumerate(workload.daemon_sets)]
    names += [(["workload", "deployments", index], name) for index, name in enumerate(workload.deployments)]
    names += [(["workload", "serviceAccount"], workload.service_account)]
    names += [(["workload", "namespace"], workload.namespace or "")]
    names += [(["install", "release"], manifest.install.release or "")]
    names += [(["install", "set", key], text) for key, text in manifest.install.set.items() if isinstance(text, str)]
    for location, text in names:
        if varies(text):
            shown = ".".join(map(str, location))
            yield location, f"`{shown}`: {text!r} varies, yet the name of the driver is fixed: {manifest.name}"
