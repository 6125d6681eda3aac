"""Packages as vendors ship them, rendered by the tools that are made for it: Helm charts and kustomizations.

Both tools are found on PATH. Objects of a chart are those that `helm install` would make: hooks of installation and
upgrade are among them, those of tests, rollbacks and deletions are not.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from drivers.manifest import Package

_HOOK = "helm.sh/hook"
_MADE = {"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
_LIMIT = 120


class PackageError(Exception):
    """A package cannot be rendered; tells the command and the end of what it said."""


def templated(package: Package, release: str, namespace: str, values: Mapping[str, str], kubernetes: str) -> str:
    """The objects of a chart, as YAML; those that have no namespace are to be in the release's.

    `values` are set as `helm --set` would. Raises PackageError.
    """
    command = ["helm", "template", release, str(package.chart), "--namespace", namespace, "--include-crds"]
    command += [word for file in package.values for word in ("--values", str(file))]
    command += [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    command += ["--kube-version", kubernetes] if kubernetes else []
    made = [item for item in yaml.safe_load_all(_run(command)) if item and _is_made(item)]
    return yaml.safe_dump_all(made)


def kustomized(directory: Path) -> str:
    """The objects of a kustomization, as YAML. Raises PackageError."""
    return _run(["kustomize", "build", str(directory)])


def _is_made(item: Mapping[str, Any]) -> bool:
    hooks = (item["metadata"].get("annotations") or {}).get(_HOOK)
    return hooks is None or bool({hook.strip() for hook in hooks.split(",")} & _MADE)


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT)
    except FileNotFoundError as error:
        raise PackageError(f"there is no {command[0]} on PATH") from error
    except subprocess.TimeoutExpired as error:
        raise PackageError(f"{' '.join(command)}: not done within {_LIMIT} s") from error
    if done.returncode:
        raise PackageError(f"{' '.join(command)}: {done.stderr.strip()[-1000:]}")
    return done.stdout
