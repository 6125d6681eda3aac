"""What a driver manifest says in one place must fit what it says in another: who installs the driver, and its names."""

from __future__ import annotations

from collections.abc import Iterator

from drivers.manifest import DriverManifest

Location = list[str | int]
_PARTS = ("id", "namespace", "prefix")


def contradictions(manifest: DriverManifest) -> Iterator[tuple[Location, str]]:
    """Each contradiction: where it stands, and what is wrong, with the key in backticks."""
    if manifest.preinstalled:
        yield from _of_preinstalled(manifest)
    else:
        yield from _of_installed(manifest)


def _of_preinstalled(manifest: DriverManifest) -> Iterator[tuple[Location, str]]:
    install, workload = manifest.install, manifest.workload
    if install.files:
        yield ["install", "files"], "`install.files`: a preinstalled driver is there already, nothing is installed"
    if install.code:
        yield ["install", "code"], "`install.code`: a preinstalled driver is there already, nothing is installed"
    if manifest.upgrade:
        yield ["upgrade"], "`upgrade`: a preinstalled driver is rolled out in its own version again, it has no other"
    if workload.namespace is None:
        yield ["workload"], "missing key `workload.namespace`: that of the preinstalled driver's pods"
    names: list[tuple[Location, str]] = [(["name"], manifest.name), (["deviceClass"], manifest.device_class)]
    names += [(["workload", "daemonSets", index], name) for index, name in enumerate(workload.daemon_sets)]
    names += [(["workload", "serviceAccount"], workload.service_account)]
    names += [(["workload", "namespace"], workload.namespace or "")]
    for location, text in names:
        if _varies(text):
            shown = ".".join(map(str, location))
            yield location, f"`{shown}`: {text!r} varies, yet the names of a preinstalled driver are fixed"


def _of_installed(manifest: DriverManifest) -> Iterator[tuple[Location, str]]:
    if not manifest.install.files:
        kind = manifest.install.kind
        yield ["install", "files"], f"missing key `install.files`: the templates of a driver of kind {kind}"
    if manifest.workload.namespace is not None:
        yield ["workload", "namespace"], "`workload.namespace`: each check installs the driver into one of its own"
    if not _varies(manifest.name):
        text = f"{manifest.name!r} lacks {{id}}: each check installs the driver under a name of its own"
        yield ["name"], f"`name`: {text}"


def _varies(text: str) -> bool:
    """Whether a name is another one for each instance."""
    return len({text.format(**dict.fromkeys(_PARTS, value), name="") for value in "ab"}) > 1
