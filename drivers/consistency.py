"""What a driver manifest says in one place must fit what it says in another: who installs the driver, and its names."""

from __future__ import annotations

from collections.abc import Iterator

from drivers.manifest import DriverManifest, Proof, varies
from drivers.templates import Placeholder, parts

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
_PROOFS = {"env": "value", "path": "", "command": "output"}
_TELLING = (Placeholder("pool"), Placeholder("device"), Placeholder("claim"))


def contradictions(manifest: DriverManifest) -> Iterator[tuple[Location, str]]:
    """Each contradiction: where it stands, and what is wrong, with the key in backticks."""
    yield from _of_the_package(manifest)
    if manifest.proof is not None:
        yield from _of_the_proof(manifest, manifest.proof)
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


def _of_the_proof(manifest: DriverManifest, proof: Proof) -> Iterator[tuple[Location, str]]:
    there = {key for key in type(proof).model_fields if getattr(proof, key) is not None}
    kinds = [kind for kind in _PROOFS if kind in there]
    if len(kinds) != 1:
        known = "`proof.env`, `proof.path` or `proof.command`"
        if kinds:
            yield ["proof", kinds[1]], f"`proof.{kinds[1]}`: a proof has just one of {known}"
        else:
            yield ["proof"], f"missing key {known}"
        return
    (kind,) = kinds
    partner = _PROOFS[kind]
    for key in sorted(there - {kind, partner}):
        yield ["proof", key], f"`proof.{key}`: a proof by `{kind}` has none"
    if partner and partner not in there:
        yield ["proof"], f"missing key `proof.{partner}`: what shows a device in a proof by `{kind}`"
        return
    key = partner or kind
    if proof.path is not None and not proof.path.startswith("/"):
        yield ["proof", "path"], f"`proof.path`: {proof.path!r} does not begin with /"
    # One pool for each device is possible. Whether a pool or an attribute is the same for all is seen in a run.
    placeholders = [part for part in parts(proof.template) if isinstance(part, Placeholder)]
    telling = [part for part in placeholders if part.attribute or part in _TELLING]
    if not telling and manifest.devices_per_node != 1:
        text = "is the same for every device: it needs {device}, {claim} or {attributes[NAME]}"
        yield ["proof", key], f"`proof.{key}`: {proof.template!r} {text}, or `devicesPerNode: 1`"


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
