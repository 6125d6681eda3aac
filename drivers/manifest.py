"""The driver under test, described by a strict YAML manifest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Support = Literal["supported", "unsupported", "unknown"]
Feature = Literal["rolling-update", "health-service", "device-health", "shared-claims", "device-status", "downgrade"]


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
