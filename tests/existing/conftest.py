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
import yaml

from fixtures.check.collected import SUITES
from fixtures.cluster.commands import Argv, CommandError, Commands
from fixtures.cluster.engine import find_engine
from fixtures.cluster.kind.config import DEVICE_LABEL, NodeSpec, kind_config
from fixtures.cluster.kind.readiness import CONTROL_PLANE_LABEL, wait_until_ready
from fixtures.cluster.node_image.choice import NodeImage, choose_node_image
from fixtures.cluster.node_image.versions import KUBERNETES_DEFAULT
from fixtures.kube.api import Kube
from fixtures.kube.informer import Scope
from fixtures.kube.retries import ApiError
from fixtures.kube.waits import wait_for
from reports.model import Report

Object = dict[str, Any]
WORKERS = 3
RUN_LIMIT = 3600
HERE = Path(__file__).parent


@dataclass(frozen=True)
class ByHand:
    """The cluster: its kubeconfig, the name of its context, and ways to change it as its admin does."""

    kubeconfig: Path
    context: str
    kube: Kube
    image: NodeImage
    commands: Commands

    def nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.kube.list("Node", labels=DEVICE_LABEL)]

    def kubectl(self, *words: str | Path) -> str:
        return self.commands.run([self.image.kubectl, "--kubeconfig", self.kubeconfig, *words], limit=120)

    def load_on_control_plane(self, archive: Path) -> None:
        name = self.context.removeprefix("kind-")
        (node,) = (node["metadata"]["name"] for node in self.kube.list("Node", labels=CONTROL_PLANE_LABEL))
        words: list[str | Path] = [f"--name={name}", f"--nodes={node}", archive]
        self.commands.run([self.image.kind, "load", "image-archive", *words], limit=600)


@pytest.fixture(scope="session")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ByHand]:
    """One control plane and three workers, made with kind's own command, labelled as the README says.

    EXISTING_KUBECONFIG names one that is there already and stays.
    """
    directory, name = tmp_path_factory.mktemp("by-hand"), f"by-hand-{secrets.token_hex(3)}"
    engine = find_engine(print)
    image = choose_node_image(KUBERNETES_DEFAULT, "auto", engine, print)
    environment = {"PATH": f"{engine.bin}:{os.environ['PATH']}", "KIND_EXPERIMENTAL_DOCKER_NETWORK": name}
    commands = Commands({**os.environ, **environment})

    def known(kubeconfig: Path) -> ByHand:
        context = yaml.safe_load(kubeconfig.read_text())["current-context"]
        return ByHand(kubeconfig, context, Kube.from_kubeconfig(kubeconfig, "by-hand"), image, commands)

    if there := os.environ.get("EXISTING_KUBECONFIG"):
        yield known(Path(there))
        return
    roles = ("control-plane", *(["worker"] * WORKERS))
    config = yaml.safe_load(
        kind_config(image.kubernetes, [NodeSpec(role, image.reference, image.kubernetes) for role in roles])  # type: ignore[arg-type]
    )
    for node in config["nodes"]:
        node.pop("labels", None)
    (directory / "kind.yaml").write_text(yaml.safe_dump(config))
    kubeconfig = directory / "kubeconfig"
    words = [f"--name={name}", f"--config={directory / 'kind.yaml'}", f"--kubeconfig={kubeconfig}"]
    delete: list[Argv] = [
        [image.kind, "delete", "cluster", f"--name={name}"],
        [engine.docker, "network", "rm", name],
    ]
    try:
        commands.run([engine.docker, "network", "create", name], limit=60)
        commands.run([image.kind, "create", "cluster", *words], limit=600)
        wait_until_ready(kubeconfig, WORKERS + 1)
        made = known(kubeconfig)
        wait_for(
            made.kube,
            Scope("Deployment"),
            lambda found: all(d["status"].get("availableReplicas") == d["spec"]["replicas"] for d in found),
            timeout=120,
            what="all that kind deploys is available, so that nothing changes by itself",
        )
        for node in made.kube.list("Node"):
            if CONTROL_PLANE_LABEL not in node["metadata"]["labels"]:
                labels = {"metadata": {"labels": {DEVICE_LABEL: "true"}}}
                made.kube.patch("Node", node["metadata"]["name"], None, labels)
        yield made
    finally:
        for command in delete:
            try:
                commands.run(command, limit=120)
            except CommandError as error:
                print(error)


@dataclass(frozen=True)
class Done:
    """How a run of the suite ended: exit code, what it said, and its report, if it wrote one."""

    code: int
    said: str
    report: Report | None

    def outcomes(self) -> dict[str, str]:
        assert self.report
        return {check.id: check.outcome for check in self.report.checks}


@dataclass(frozen=True)
class Suite:
    """Starts runs as a user would."""

    directory: Path

    def start(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "pytest", str(SUITES), "-p", "no:cacheprovider", "--dra-cluster=existing"]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DRA_", "KUBECONFIG"))}
        return subprocess.Popen(
            [*words, f"--dra-report-dir={self.directory}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean | environment,
            cwd=SUITES.parent,
        )

    def run(self, *options: str, **environment: str) -> Done:
        return self.end(self.start(*options, **environment))

    def end(self, process: subprocess.Popen[str]) -> Done:
        said, _ = process.communicate(timeout=RUN_LIMIT)
        print(said[-20000:])
        written = sorted(self.directory.glob("*/conformance-report.json"))
        report = Report.model_validate_json(written[-1].read_text()) if written else None
        return Done(process.returncode, said, report)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path / "out")


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
