"""Reading a driver manifest; what does not fit is told with file, line, key and the nearest right one."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import get_args

import yaml
from jinja2 import Environment, TemplateSyntaxError
from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from drivers.consistency import contradictions
from drivers.manifest import DriverManifest, Feature, Package

CATALOG = Path(__file__).parent / "catalog"


class ManifestError(Exception):
    """A manifest that cannot be used; the message says file, line, key and the nearest right one."""


def known_drivers() -> list[str]:
    """Names of the catalog's drivers."""
    return sorted(path.stem for path in CATALOG.glob("*.yaml"))


def load(reference: str) -> DriverManifest:
    """Read a driver manifest by catalog name or file path.

    Raises:
        ManifestError: unknown name, unreadable file, or a key or value that does not fit.
    """
    path = CATALOG / f"{reference}.yaml"
    if not path.is_file():
        path = Path(reference)
    if not path.is_file():
        known = known_drivers()
        raise ManifestError(
            f"unknown driver {reference!r}: neither a file nor one of {', '.join(known)}{_near(reference, known)}"
        )
    try:
        text = path.read_text()
        data = yaml.safe_load(text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ManifestError(f"{path}: not YAML: {error}") from error
    if not isinstance(data, dict):
        raise ManifestError(
            f"{path}: a driver manifest is a mapping that begins with `apiVersion: dra.conformance/v1alpha1`"
        )
    try:
        manifest = DriverManifest.model_validate(data)
    except ValidationError as error:
        problems = [_explain(path, node, item) for item in error.errors()]
        raise ManifestError("\n".join(problems)) from error
    wrong = [f"{path}:{_line(node, location)}: {text}" for location, text in contradictions(manifest)]
    if wrong:
        raise ManifestError("\n".join(wrong))
    return _absolute(manifest, path, node)


def _absolute(manifest: DriverManifest, path: Path, root: yaml.Node | None) -> DriverManifest:
    """The manifest with absolute paths, each of which is there."""

    def place(text: str | Path, *location: str | int) -> Path:
        file = (path.parent / text).resolve()
        if not file.exists():
            where = list(location)
            raise ManifestError(f"{path}:{_line(root, where)}: `{_place(where)}`: {file} does not exist")
        return file

    def places(package: Package, key: str) -> Package:
        found: dict[str, object] = {
            name: tuple(place(file, key, name, i) for i, file in enumerate(getattr(package, name)))
            for name in ("files", "values")
        }
        if package.directory:
            found["directory"] = place(package.directory, key, "directory")
        if package.chart and not package.chart.startswith("oci://"):
            found["chart"] = str(place(package.chart, key, "chart"))
        return package.model_copy(update={name: found[name] for name in found.keys() & package.model_fields_set})

    install = places(manifest.install, "install")
    if manifest.install.code:
        install = install.model_copy(update={"code": place(manifest.install.code, "install", "code")})
    found: dict[str, object] = {"install": install}
    if manifest.upgrade:
        found["upgrade"] = places(manifest.upgrade, "upgrade")
    if manifest.node_setup:
        found["node_setup"] = place(manifest.node_setup, "nodeSetup")
    archives = [str((path.parent / image).resolve()) for image in manifest.images]
    found["images"] = tuple(
        archive if Path(archive).is_file() else image for image, archive in zip(manifest.images, archives, strict=True)
    )
    loaded = manifest.model_copy(update=found)
    for package in filter(None, (loaded.install, loaded.upgrade)):
        for file in package.files:
            _check_template(file)
    return loaded


def _check_template(file: Path) -> None:
    try:
        Environment(autoescape=False).parse(file.read_text())
    except OSError as error:
        raise ManifestError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"{file}: not text: {error}") from error
    except TemplateSyntaxError as error:
        raise ManifestError(f"{file}:{error.lineno}: not a Jinja2 template: {error.message}") from error


def _place(location: list[str | int]) -> str:
    return ".".join(str(part) for part in location)


def _explain(path: Path, root: yaml.Node | None, problem: ErrorDetails) -> str:
    location, kind, message = list(problem["loc"]), problem["type"], problem["msg"]
    if location[-1:] == ["[key]"]:
        known = list(get_args(Feature))
        return (
            f"{path}:{_line(root, location)}: unknown key `{_place(location[:-1])}`{_near(str(location[-2]), known)}; "
            f"known keys: {', '.join(known)}"
        )
    place = _place(location)
    line = _line(root, location)
    if kind == "extra_forbidden":
        known = _known_keys(location[:-1])
        return f"{path}:{line}: unknown key `{place}`{_near(str(location[-1]), known)}; known keys: {', '.join(known)}"
    if kind == "missing":
        return f"{path}:{_line(root, location[:-1])}: missing key `{place}`"
    if problem["input"] is None:
        return f"{path}:{line}: `{place}`: has no value"
    return f"{path}:{line}: `{place}`: {message.removeprefix('Value error, ')}"


def _known_keys(location: list[str | int]) -> list[str]:
    model: type[BaseModel] = DriverManifest
    for part in location:
        field = next((f for name, f in model.model_fields.items() if to_camel(name) == part), None)
        candidates = [] if field is None else [field.annotation, *getattr(field.annotation, "__args__", ())]
        model = next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), model)
    return [to_camel(name) for name in model.model_fields]


def _line(node: yaml.Node | None, location: list[str | int]) -> int:
    """Line (from 1) of the deepest part of `location` that stands in the file."""
    line = 1 if node is None else node.start_mark.line + 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    line, node = key.start_mark.line + 1, value
                    break
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _near(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" (did you mean `{close[0]}`?)" if close else ""
