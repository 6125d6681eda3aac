"""A kind cluster that nobody of the suite made, everything that is in it, and runs of the suite against it."""

from __future__ import annotations

import copy
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tenacity

from fixtures.cluster.kind.by_hand import PlainCluster
from fixtures.cluster.kind.config import DEVICE_LABEL
from fixtures.cluster.kind.readiness import CONTROL_PLANE_LABEL
from fixtures.kube.api import Kube
from fixtures.kube.retries import ApiError
from tests.runs import Suite

Object = dict[str, Any]
HERE = Path(__file__).parent


class ByHand(PlainCluster):
    """The cluster, with ways to change it as its admin does."""

    def nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.kube.list("Node", labels=DEVICE_LABEL)]

    def disturbing(self) -> tuple[str, ...]:
        """The options of a run that may do anything in it."""
        return (f"--dra-kubeconfig={self.kubeconfig}", f"--dra-context={self.context}", "--dra-allow-disruptive")

    def kubectl(self, *words: str | Path) -> str:
        return self.commands.run([self.image.kubectl, "--kubeconfig", self.kubeconfig, *words], limit=120)

    def load_on_control_plane(self, archive: Path) -> None:
        name = self.context.removeprefix("kind-")
        (node,) = (node["metadata"]["name"] for node in self.kube.list("Node", labels=CONTROL_PLANE_LABEL))
        words: list[str | Path] = [f"--name={name}", f"--nodes={node}", archive]
        self.commands.run([self.image.kind, "load", "image-archive", *words], limit=600)


@pytest.fixture(scope="session")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ByHand]:
    """A plain kind cluster. EXISTING_KUBECONFIG names one that is there already and stays."""
    if there := os.environ.get("EXISTING_KUBECONFIG"):
        yield ByHand.known(Path(there), print)
        return
    with ByHand.made(tmp_path_factory.mktemp("by-hand"), print) as made:
        yield made


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path / "out", ("--dra-cluster=existing",))


Key = tuple[str, str, str]
_HEARTBEATS = ("leases", "leasecandidates", "events", "componentstatuses")


@dataclass(frozen=True)
class Everything:
    """All objects of a cluster, by resource, namespace and name, without what changes by itself."""

    objects: dict[Key, Object] = field(default_factory=dict)

    @classmethod
    def of(cls, kube: Kube) -> Everything:
        found: dict[Key, Object] = {}
        for prefix, resource in _resources(kube):
            for item in json.loads(kube.raw("get", f"/{prefix}/{resource}")).get("items") or []:
                metadata = item["metadata"]
                found[resource, metadata.get("namespace", ""), metadata["name"]] = _lasting(resource, item)
        return cls(found)

    def changes(self, after: Everything, ignoring: str = "") -> list[str]:
        """What was made, changed or deleted since, as sentences; without those that a regular expression matches."""
        texts = [f"made: {_shown(key)}" for key in after.objects.keys() - self.objects.keys()]
        texts += [f"deleted: {_shown(key)}" for key in self.objects.keys() - after.objects.keys()]
        for key in self.objects.keys() & after.objects.keys():
            texts += [f"changed: {_shown(key)}: {what}" for what in _differences(self.objects[key], after.objects[key])]
        return sorted(text for text in texts if not (ignoring and re.search(ignoring, text)))


def _resources(kube: Kube) -> Iterator[tuple[str, str]]:
    """Path and name of each resource that can be listed; of each group the first version that has it."""
    groups = json.loads(kube.raw("get", "/apis"))["groups"]
    paths = ["api/v1", *(f"apis/{version['groupVersion']}" for group in groups for version in group["versions"])]
    seen = set()
    for path in paths:
        group = path.rpartition("/")[0]
        for resource in json.loads(kube.raw("get", f"/{path}"))["resources"]:
            name = resource["name"]
            if "list" in resource["verbs"] and name not in _HEARTBEATS and (group, name) not in seen:
                seen.add((group, name))
                yield path, name


def _lasting(resource: str, item: Object) -> Object:
    """An object without what changes by itself."""
    lasting = copy.deepcopy(item)
    for key in ("managedFields", "resourceVersion", "generation"):
        lasting["metadata"].pop(key, None)
    if resource in ("nodes", "apiservices", "horizontalpodautoscalers"):
        lasting.pop("status", None)
    if resource == "pods":  # a kubelet tells more of a pod as time goes by
        status = lasting.pop("status")
        started = {c["name"]: (c["containerID"], c["restartCount"]) for c in status.get("containerStatuses", [])}
        lasting["status"] = {"phase": status.get("phase"), "started": started}
    return lasting


def _differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(key), after.get(key), f"{place}.{key}")
    elif before != after:
        yield f"{place.lstrip('.')}: {json.dumps(before)[:200]} -> {json.dumps(after)[:200]}"


def _shown(key: Key) -> str:
    return "/".join(filter(None, key))


@pytest.fixture
def look(by_hand: ByHand) -> Callable[[], Everything]:
    """Takes a picture of everything in the cluster."""

    @tenacity.retry(retry=tenacity.retry_if_exception_type(ApiError), stop=tenacity.stop_after_attempt(3), reraise=True)
    def take() -> Everything:
        return Everything.of(by_hand.kube)

    return take


@pytest.fixture
def proxied(by_hand: ByHand, tmp_path: Path) -> Callable[..., Any]:
    """A context manager that gives a kubeconfig for the cluster behind a proxy; see proxy.py for its options."""

    @contextmanager
    def proxy(*options: str) -> Iterator[Path]:
        target = tmp_path / f"proxied-{secrets.token_hex(3)}"
        words = [sys.executable, str(HERE / "proxy.py"), str(by_hand.kubeconfig), str(target), *options]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        ready = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda there: not there),
            wait=tenacity.wait_fixed(0.1),
            stop=tenacity.stop_after_delay(60),
        )
        try:
            ready(target.exists)
            yield target
        finally:
            process.terminate()
            print("the proxy's requests:", process.communicate(timeout=60)[0])

    return proxy
