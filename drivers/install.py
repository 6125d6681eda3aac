"""From a manifest to the objects of one driver instance."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from drivers.images import containers, mirror
from drivers.manifest import DriverManifest
from drivers.packages import kustomized, objects_in, templated

Object = dict[str, Any]
Overlay = Callable[[list[Object]], list[Object]]

PYTHON_IMAGE = "localhost/dra-conformance/python:1"
RUN_LABEL = "dra-conformance/run"


@dataclass(frozen=True, slots=True)
class Instance:
    """One installation of a driver; everything that exists twice in the world derives from `id`.

    Of a driver whose name is fixed there is one: what derives from `id` is just the check's namespace. `registry` is
    where all images are taken from; empty: each from its own. `kubernetes` is the version that charts are told.
    """

    manifest: DriverManifest
    id: str
    run: str
    version: str
    node_selector: dict[str, str]
    faults: tuple[str, ...] = ()
    seamless: bool = True
    image: str = PYTHON_IMAGE
    registry: str = ""
    kubernetes: str = ""
    names: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Work out the names once."""
        known = {"id": self.id, "namespace": f"dra-{self.id}", "prefix": f"driver-{self.id}"}
        known["name"] = self.manifest.name.format(**known)
        object.__setattr__(self, "names", known)

    @property
    def package_names(self) -> dict[str, str]:
        """What stands in the package for its names; in that of a driver whose name is fixed it is always the same."""
        if not self.manifest.shared:
            return self.names
        return {"id": "driver", "prefix": "driver", "namespace": self.home, "name": self.name}

    @property
    def name(self) -> str:
        """The driver name, as in slices and allocation results."""
        return self.names["name"]

    @property
    def namespace(self) -> str:
        """Namespace of the workload that uses the driver, and of the driver's pods unless its name is fixed."""
        return self.names["namespace"]

    @property
    def home(self) -> str:
        """Namespace of the driver's pods."""
        return self.manifest.workload.namespace or self.namespace

    @property
    def daemon_sets(self) -> tuple[str, ...]:
        """Names of the DaemonSets."""
        return tuple(name.format(**self.names) for name in self.manifest.workload.daemon_sets)

    @property
    def service_account(self) -> str:
        """Name of the ServiceAccount the driver runs as."""
        return self.manifest.workload.service_account.format(**self.names)

    @property
    def drivers(self) -> dict[str, str]:
        """Names of all drivers of the package, by the container that serves them."""
        return {key: name.format(**self.names) for key, name in self.manifest.workload.containers.items()}

    @property
    def container(self) -> str:
        """The container that serves this driver's DRA socket."""
        return next(container for container, name in self.drivers.items() if name == self.name)

    @property
    def device_class(self) -> str:
        """Name of the DeviceClass that selects this driver's devices."""
        return self.manifest.claim.device_class_name.format(**self.names)

    def upgraded(self) -> Instance:
        """The same installation at the manifest's other version; without one, this version again."""
        return replace(self, version=self.manifest.upgrade.version) if self.manifest.upgrade else self


def render(instance: Instance, overlay: Overlay | None = None) -> list[Object]:
    """All objects of an instance, namespace excluded, in the order in which they are to be created.

    An overlay changes them first; then each gets its images from the registry and the label of the run.

    Raises:
        PackageError: a chart or kustomization does not render, or what is rendered has something that is no object.
    """
    objects = _packaged(instance)
    if overlay:
        objects = overlay(objects)
    mirror(objects, instance.registry)
    for item in objects:
        item["metadata"]["labels"] = {**(item["metadata"].get("labels") or {}), RUN_LABEL: instance.run}
    return objects


def _packaged(instance: Instance) -> list[Object]:
    """The objects as their makers have them."""
    manifest, package = instance.manifest, instance.manifest.package(instance.version)
    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    texts = [environment.from_string(file.read_text()).render(variables(instance)) for file in package.files]
    if package.chart:
        values = {key: _filled(value, instance) for key, value in package.set.items()}
        release = (manifest.install.release or "{prefix}").format(**instance.package_names)
        texts.append(templated(package, release, instance.home, values, instance.kubernetes))
    if package.directory:
        texts.append(kustomized(package.directory))
    objects = [_code(instance, manifest.install.code)] if manifest.install.code else []
    objects += [item for text in texts for item in objects_in(text)]
    if manifest.upgrade and manifest.upgrade.image and instance.version == manifest.upgrade.version:
        for container in containers(objects):
            if container["name"] in instance.drivers:
                container["image"] = manifest.upgrade.image
    return objects


def _filled(value: str | int | bool, instance: Instance) -> str:
    return value.format(**instance.package_names) if isinstance(value, str) else str(value).lower()


def variables(instance: Instance) -> dict[str, Any]:
    """What templates are rendered with."""
    return {
        **instance.package_names,
        "run": instance.run,
        "image": instance.image,
        "version": instance.version,
        "seamless": instance.seamless,
        "faults": list(instance.faults),
        "devices": instance.manifest.devices_per_node or 4,
        "node_selector": instance.node_selector,
    }


def _code(instance: Instance, source: Path) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{instance.package_names['prefix']}-code", "namespace": instance.home},
        "binaryData": {"code.zip": base64.b64encode(archive(source)).decode()},
    }


def archive(source: Path) -> bytes:
    """A zip that Python can import from: a single module, or a package under its full dotted path."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        if source.is_file():
            _add(target, source, source.name)
        else:
            root = source
            while (root.parent / "__init__.py").exists():
                root = root.parent
                _add(target, root / "__init__.py", f"{root.name}/__init__.py")
            for file in sorted(source.rglob("*.py")):
                _add(target, file, str(file.relative_to(root.parent)))
    return buffer.getvalue()


def _add(target: zipfile.ZipFile, file: Path, name: str) -> None:
    """Add one file without its time stamp, so that equal sources give equal archives."""
    target.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), file.read_text(), zipfile.ZIP_DEFLATED)
