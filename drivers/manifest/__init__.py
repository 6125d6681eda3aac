"""The driver under test, described by a strict YAML manifest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from drivers.templates import checked

Support = Literal["supported", "unsupported", "unknown"]
Feature = Literal["rolling-update", "health-service", "device-health", "shared-claims", "device-status", "downgrade"]


_PARTS = ("id", "namespace", "prefix")


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


def varies(text: str) -> bool:
    """Whether a name is another one for each instance."""
    return len({text.format(**dict.fromkeys(_PARTS, value), name="") for value in "ab"}) > 1


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


class Package(_Strict):
    """What the objects of a driver are rendered from.

    `files` are Jinja2 templates, `chart` a Helm chart (a directory, an archive or `oci://`) with files of `values` and
    single values to `set`, `directory` a kustomization. Paths are relative to the manifest. Values that are `set` may
    have placeholders.
    """

    files: tuple[Path, ...] = ()
    chart: str | None = None
    values: tuple[Path, ...] = ()
    set: dict[str, Naming | int | bool] = {}
    directory: Path | None = None


class Install(Package):
    """How the driver gets into the cluster.

    `manifest` takes files alone, `helm` a chart, `kustomize` a directory, both with files for what they lack, such as
    a DeviceClass; `release` is the name of a chart's release. `fake` is the suite's own, whose faults can be planted.
    `code` is a Python package or module that is mounted into the driver's pods at `/code/code.zip`.

    A driver whose name has `{id}` in it is installed once per check, each time under another name, so that many
    instances share a cluster. One whose name is fixed is installed once per cluster. A `preinstalled` driver is there
    already: nothing is installed, upgraded or removed.
    """

    kind: Literal["fake", "manifest", "helm", "kustomize", "preinstalled"]
    release: Naming | None = None
    code: Path | None = None


class Upgrade(Package):
    """The other version for rollouts, and what is different in it; all else is as in `install`.

    Templates are rendered with `version`; `image` is that of the containers that serve drivers.
    """

    version: str
    image: str | None = None


class Workload(_Strict):
    """Where the driver's pods are found; `{prefix}` stands for the instance's object name prefix.

    `namespace` is that of a driver whose name is fixed; others are installed into the one of the check. `containers`
    tells which driver each container serves: a package may have several drivers, of which one is under test.
    `deployments` are what belongs to it beside its DaemonSets.
    """

    namespace: Naming | None = None
    daemon_sets: tuple[Naming, ...] = Field(min_length=1)
    deployments: tuple[Naming, ...] = ()
    service_account: Naming
    containers: dict[str, Naming] = Field(min_length=1)


class Claim(_Strict):
    """The request that gets one usable allocation, in the words of a ResourceClaim's `exactly`.

    `selectors` are CEL expressions, `capacity` what is asked of a device by name, `config` opaque parameters for the
    driver. `per_node` is how many such claims a node can hold at once; else that is seen.
    """

    device_class_name: Naming
    allocation_mode: Literal["ExactCount", "All"] = "ExactCount"
    count: int = Field(default=1, ge=1)
    capacity: dict[str, str] = {}
    selectors: tuple[str, ...] = ()
    tolerations: tuple[dict[str, str], ...] = ()
    config: tuple[dict[str, Any], ...] = ()
    per_node: int | None = Field(default=None, ge=1)


class Proof(_Strict):
    """What shows inside a container which device it got: variables, a path, or what a command prints.

    `env` is a regular expression for names of environment variables, `value` what each of them holds. `path` is that of
    a device node, file or directory. `command` is run in the container as it starts, `output` a line of what it prints.

    In `value`, `path` and `output`, `{driver}`, `{pool}`, `{device}` and `{claim}` (its UID) stand for the allocation
    result, `{attributes[NAME]}` for an attribute of the device; in a path each is one name, without a slash.
    """

    env: Annotated[str, AfterValidator(_pattern)] | None = None
    value: Annotated[str, AfterValidator(checked)] | None = None
    path: Annotated[str, AfterValidator(checked)] | None = None
    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    output: Annotated[str, AfterValidator(checked)] | None = None

    @property
    def template(self) -> str:
        """What shows one device."""
        return self.value or self.path or self.output or ""


class Metrics(_Strict):
    """Where the driver serves Prometheus metrics: a port of its pods."""

    port: int = Field(ge=1, le=65535)


class DriverManifest(_Strict):
    """Everything the suite knows about a driver before it has seen it.

    `images` are put on every node of a kind cluster: archives, or names in the local engine. `node_setup` is a shell
    script that is run on each of its workers before the driver is installed. `tolerations` are those that pods need
    to be let onto the driver's nodes. Without a `proof`, a container with a device must just differ from others.
    """

    api_version: Literal["dra.conformance/v1alpha1"]
    kind: Literal["DriverUnderTest"]
    name: Annotated[str, _placeholders("id", "namespace", "prefix")]
    implementation: Implementation
    install: Install
    workload: Workload
    claim: Claim
    proof: Proof | None = None
    upgrade: Upgrade | None = None
    images: tuple[str, ...] = ()
    node_setup: Path | None = None
    metrics: Metrics | None = None
    devices_per_node: int | None = Field(default=None, ge=1)
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, str], ...] = ()
    kubelet_root: Path = Path("/var/lib/kubelet")
    features: dict[Feature, Support] = {}
    timeouts: dict[str, Seconds] = {}

    def supports(self, feature: str) -> Support:
        """What the manifest declares for a feature; `unknown` when it says nothing."""
        return self.features.get(feature, "unknown")  # type: ignore[call-overload,no-any-return]

    @property
    def preinstalled(self) -> bool:
        """Whether the driver is there already."""
        return self.install.kind == "preinstalled"

    @property
    def shared(self) -> bool:
        """Whether there is one for all checks, since its name is fixed."""
        return not varies(self.name)

    def package(self, version: str) -> Package:
        """What the objects of a version are rendered from."""
        if self.upgrade is None or version != self.upgrade.version:
            return self.install
        there = {
            name: getattr(self.upgrade, name) for name in self.upgrade.model_fields_set & set(Package.model_fields)
        }
        if "set" in there:
            there["set"] = {**self.install.set, **self.upgrade.set}
        return self.install.model_copy(update=there)
