"""Packages as vendors ship them, rendered by the tools that are made for it: Helm charts and kustomizations.

Both tools are found on PATH. Objects of a chart are those that `helm install` would make: hooks of installation and
upgrade are among them, those of tests, rollbacks and deletions are not.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from drivers.manifest import Package

Object = dict[str, Any]

_HOOK = "helm.sh/hook"
_MADE = {"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
_LIMIT = 120


class PackageError(Exception):
    """A package cannot be rendered, or has not what it should have.

    Tells the command, with the chart and its values, and the end of what it said.
    """


def templated(package: Package, release: str, namespace: str, values: Mapping[str, str], kubernetes: str) -> str:
    """The objects of a chart, as YAML; those that have no namespace are to be in the release's.

    `values` are set as `helm --set` would. Raises PackageError.
    """
    command = ["helm", "template", release, str(package.chart), "--namespace", namespace, "--include-crds"]
    command += [word for file in package.values for word in ("--values", str(file))]
    command += [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    command += ["--kube-version", kubernetes] if kubernetes else []
    return yaml.safe_dump_all(item for item in objects_in(_run(command)) if _is_made(item))


def shown(chart: str, what: Literal["chart", "values"]) -> dict[str, Any]:
    """What a chart's `Chart.yaml` or `values.yaml` has. Raises PackageError."""
    return yaml.safe_load(_run(["helm", "show", what, chart])) or {}


def kustomized(directory: Path) -> str:
    """The objects of a kustomization, as YAML. Raises PackageError."""
    return _run(["kustomize", "build", str(directory)])


def objects_in(text: str) -> list[Object]:
    """The objects of some YAML. Raises PackageError: something there is none."""
    found = [item for item in yaml.safe_load_all(text) if item]
    for item in found:
        if not isinstance(item, dict) or not item.get("kind") or not (item.get("metadata") or {}).get("name"):
            raise PackageError(
                f"what is rendered has something that is no object with a kind and a name: {item!r:.200}"
            )
    return found


def _is_made(item: Object) -> bool:
    hooks = (item["metadata"].get("annotations") or {}).get(_HOOK)
    return hooks is None or bool({hook.strip() for hook in hooks.split(",")} & _MADE)


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT)
    except FileNotFoundError as error:
        how = f"install it, or have Go build it: PATH=$(python -m fixtures.cluster.tools {command[0]}):$PATH"
        raise PackageError(f"there is no {command[0]} on PATH; {how}") from error
    except subprocess.TimeoutExpired as error:
        raise PackageError(f"{' '.join(command)}: not done within {_LIMIT} s") from error
    if done.returncode:
        raise PackageError(f"{' '.join(command)}: {done.stderr.strip()[-1000:]}")
    return done.stdout
