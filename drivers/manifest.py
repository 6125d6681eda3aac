"""The driver under test, described by a strict YAML manifest (DESIGN 5)."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated, Literal, get_args

import yaml
from jinja2 import Environment, TemplateSyntaxError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from drivers.consistency import contradictions

CATALOG = Path(__file__).parent / "catalog"

Support = Literal["supported", "unsupported", "unknown"]
Feature = Literal["rolling-update", "health-service", "device-health", "shared-claims", "device-status", "downgrade"]


class ManifestError(Exception):
    """A manifest that cannot be used; the message says file, line, key and the nearest right one."""


def _placeholders(*known: str) -> AfterValidator:
    """Only these stand in braces."""

    def check(text: str) -> str:
        try:
            text.format(**dict.fromkeys(known, ""))
        except (KeyError, IndexError, AttributeError, ValueError) as error:
            shown = ", ".join(f"{{{name}}}" for name in known)
            raise ValueError(f"{text!r} has a placeholder that is none of {shown}") from error
        return text

    return AfterValidator(check)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from error
    return text


Naming = Annotated[str, _placeholders("id", "namespace", "prefix", "name")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=False)


class Implementation(_Strict):
    """Who made the driver and which version is tested; copied into the report."""

    organization: str
    project: str
    version: str
    url: str
    contact: tuple[str, ...] = ()


class Install(_Strict):
    """How the driver gets into the cluster.

    `fake` and `manifest` are Jinja2 templates (paths relative to the manifest) rendered once per check, each time
    with another name, so that many instances share a cluster. `code` is a Python package or module that is
    mounted into the driver's pods at `/code/code.zip`. A `preinstalled` driver is there already, under names that are
    fixed: nothing is installed or removed, and all checks share it.
    """

    kind: Literal["fake", "manifest", "preinstalled"]
    files: tuple[Path, ...] = ()
    code: Path | None = None


class Upgrade(_Strict):
    """The other version for rollouts: the value of `version` that the templates are rendered with."""

    version: str


class Workload(_Strict):
    """Where the driver's pods are found; `{prefix}` stands for the instance's object name prefix.

    `namespace` is that of a preinstalled driver; others are installed into the one of the check.
    """

    namespace: Naming | None = None
    daemon_sets: tuple[Naming, ...] = Field(min_length=1)
    service_account: Naming
    container: str


class Proof(_Strict):
    """What shows inside a container which device it got.

    `env` is a regular expression for names of environment variables, `value` what each of them holds;
    `{driver}`, `{pool}` and `{device}` stand for the allocation result.
    """

    env: Annotated[str, AfterValidator(_pattern)]
    value: Annotated[str, _placeholders("driver", "pool", "device")]


class Metrics(_Strict):
    """Where the driver serves Prometheus metrics: a port of its pods."""

    port: int = Field(ge=1, le=65535)


class DriverManifest(_Strict):
    """Everything the suite knows about a driver before it has seen it."""

    api_version: Literal["dra.conformance/v1alpha1"]
    kind: Literal["DriverUnderTest"]
    name: Annotated[str, _placeholders("id", "namespace", "prefix")]
    implementation: Implementation
    install: Install
    workload: Workload
    device_class: Naming
    proof: Proof
    upgrade: Upgrade | None = None
    metrics: Metrics | None = None
    devices_per_node: int | None = Field(default=None, ge=1)
    node_selector: dict[str, str] = {}
    kubelet_root: Path = Path("/var/lib/kubelet")
    features: dict[Feature, Support] = {}
    timeouts: dict[str, Seconds] = {}

    def supports(self, feature: str) -> Support:
        """What the manifest declares for a feature; `unknown` when it says nothing."""
        return self.features.get(feature, "unknown")  # type: ignore[call-overload,no-any-return]

    @property
    def preinstalled(self) -> bool:
        """Whether the driver is there already, and one for all checks."""
        return self.install.kind == "preinstalled"


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
        problems = [_explain(path, node, list(item["loc"]), item["type"], item["msg"]) for item in error.errors()]
        raise ManifestError("\n".join(problems)) from error
    wrong = [f"{path}:{_line(node, location)}: {text}" for location, text in contradictions(manifest)]
    if wrong:
        raise ManifestError("\n".join(wrong))
    return manifest.model_copy(update={"install": _absolute(manifest.install, path, node)})


def _absolute(install: Install, path: Path, root: yaml.Node | None) -> Install:
    files = [(path.parent / file).resolve() for file in install.files]
    code = (path.parent / install.code).resolve() if install.code else None
    named: list[tuple[Path, list[str | int]]] = [(f, ["install", "files", i]) for i, f in enumerate(files)]
    if code:
        named.append((code, ["install", "code"]))
    for file, location in named:
        if not file.exists():
            raise ManifestError(f"{path}:{_line(root, location)}: `{_place(location)}`: {file} does not exist")
    for file in files:
        _check_template(file)
    return install.model_copy(update={"files": tuple(files), "code": code})


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


def _explain(path: Path, root: yaml.Node | None, location: list[str | int], kind: str, message: str) -> str:
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
