"""What the doctor finds in a cluster, and what it says about it."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import urllib3.exceptions

from drivers.install import RUN_LABEL
from drivers.loading import load
from drivers.manifest import Claim
from fixtures import doctor
from fixtures.check.collected import checks
from fixtures.cluster import component_metrics
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.existing.kubeconfig import Access
from fixtures.cluster.handle import ClusterHandle, Node
from fixtures.cluster.nodes.quiet import TAKEN_LABEL
from fixtures.doctor import driver, gates, leftovers, rights, trial, versions
from fixtures.doctor.finding import Finding, fail, ok, text, warn
from fixtures.kube import metrics
from fixtures.kube.api import Kube, Refused
from fixtures.options.options import OPTIONS, Options, parse
from fixtures.plan.offers import foreseen
from fixtures.rights.right import Right
from fixtures.rights.table import Table

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
HANDLE = ClusterHandle(
    "standard",
    "words",
    Path("/kubeconfig"),
    "1.37.2",
    (Node("control", "control-plane", "10.0.0.1"), Node("w1", "worker", "10.0.0.2"), Node("w2", "worker", "10.0.0.3")),
    frozenset(),
    Path(),
    Path(),
    Path(),
)
IMAGES = ("localhost/dra-conformance/busybox:1", "localhost/dra-conformance/python:1")


def options(**values: str) -> Options:
    return parse({option.name: option.default for option in OPTIONS} | values, {check.id for check, _ in checks()})


def node(name: str, kubelet: str = "v1.37.2", runtime: str = "containerd://2.4.2", *images: str) -> Object:
    info = {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime}
    told = [{"names": [image]} for image in images]
    return {"kind": "Node", "metadata": {"name": name}, "status": {"nodeInfo": info, "images": told}}


class Pages(Kube):
    """Answers by path."""

    def __init__(self, pages: dict[str, Any]) -> None:
        self.pages = pages

    def raw(self, method: str, path: str, **_: Any) -> str:
        assert method == "get"
        answer = self.pages[path]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)


def levels(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level, finding.about) for finding in findings]


def test_the_text_has_a_line_per_finding_the_remedies_and_the_sum() -> None:
    said = text([ok("API", "answers"), warn("gates", "differ", "set them"), fail("CDI", "is off", "switch it on")])
    assert said.splitlines() == [
        "OK    API    answers",
        "WARN  gates  differ",
        "             remedy: set them",
        "FAIL  CDI    is off",
        "             remedy: switch it on",
        "1 OK, 1 WARN, 1 FAIL. A run is of no use before what failed is mended.",
    ]
    assert text([ok("API", "answers")]).endswith("A run can begin.")


@pytest.mark.parametrize(
    ("served", "level", "says"),
    [
        (["v1", "v1beta1"], "OK", "Kubernetes v1.36.0 serves resource.k8s.io v1, v1beta1"),
        (["v1beta2", "v1beta1"], "FAIL", "Kubernetes v1.36.0 serves resource.k8s.io v1beta2, v1beta1, not v1"),
        (None, "FAIL", "Kubernetes v1.36.0 serves resource.k8s.io in no version, not v1"),
    ],
)
def test_the_api_must_be_served_in_v1(served: list[str] | None, level: str, says: str, memory: Memory) -> None:
    group = memory.problem(404) if served is None else {"versions": [{"version": version} for version in served]}
    finding = versions.api(Pages({"/version": {"gitVersion": "v1.36.0"}, "/apis/resource.k8s.io": group}))
    assert (finding.level, finding.says) == (level, says)
    assert bool(finding.remedy) == (level == "FAIL")


@pytest.mark.parametrize(
    ("kubelet", "level", "part"),
    [
        ("v1.37.2", "OK", "v1.37.2"),
        ("v1.34.1", "WARN", "v1.34.1 on 1 node: a driver's registration is lost"),
        ("v1.34.0+k3s1", "WARN", "v1.34.0+k3s1 on 1 node"),
        ("v1.34.2", "OK", "v1.34.2"),
        ("v1.32.13", "WARN", "a seamless upgrade loses the driver there"),
    ],
)
def test_kubelets_that_are_bad_or_old_are_named(kubelet: str, level: str, part: str) -> None:
    finding = versions.kubelets([node("w1"), node("w2", kubelet)])
    assert finding.level == level
    assert part in finding.says


@pytest.mark.parametrize(
    ("runtime", "level"),
    [
        ("containerd://2.0.0", "OK"),
        ("containerd://1.7.27", "WARN"),
        ("cri-o://1.28.1", "OK"),
        ("cri-o://1.27.0", "WARN"),
        ("other://0.1", "OK"),
    ],
)
def test_old_container_runtimes_may_not_inject(runtime: str, level: str) -> None:
    assert versions.runtimes([node("w1"), node("w2", runtime=runtime)]).level == level


def metric(**values: int) -> str:
    lines = [f'kubernetes_feature_enabled{{name="{name}",stage="BETA"}} {value}' for name, value in values.items()]
    return "\n".join(["# TYPE kubernetes_feature_enabled gauge", *lines, "go_goroutines 1", ""])


def test_gates_that_differ_are_named_with_who_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    on = metric(DynamicResourceAllocation=1, DRAExtendedResource=1, Unrelated=1)
    kubelets = {node.name: f"/api/v1/nodes/{node.name}/proxy/metrics" for node in HANDLE.nodes}
    kube = Pages({"/metrics": on, **dict.fromkeys(kubelets.values(), on)})
    monkeypatch.setattr(component_metrics, "control_plane", lambda *_: metrics.Scrape(on))
    (same,) = gates.examine(kube, HANDLE)
    components = "kube-apiserver, kube-controller-manager, kube-scheduler, 3 kubelets"
    assert same == ok("gates", f"those of DRA are the same in {components}")
    kube.pages[kubelets["w2"]] = metric(DRAExtendedResource=0, Unrelated=0)
    (differs,) = gates.examine(kube, HANDLE)
    assert differs.level == "WARN"
    assert differs.says.startswith("DRAExtendedResource is on in kube-apiserver, kube-controller-manager")
    assert differs.says.endswith("off in kubelet of w2")
    kube.pages[kubelets["w2"]] = metric(DynamicResourceAllocation=0)
    (off,) = gates.examine(kube, HANDLE)
    assert (off.level, off.says) == ("FAIL", "DynamicResourceAllocation is off in kubelet of w2")


def test_components_that_cannot_be_asked_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("HTTP 403")

    on = metric(DynamicResourceAllocation=1)
    kubelets = {f"/api/v1/nodes/{node.name}/proxy/metrics": on for node in HANDLE.nodes}
    kube = Pages({"/metrics": urllib3.exceptions.HTTPError("no route"), **kubelets})
    monkeypatch.setattr(component_metrics, "control_plane", refuse)
    same, silent = gates.examine(kube, HANDLE)
    assert same.level == "OK"
    assert silent.level == "WARN"
    assert silent.says == "not told by kube-apiserver, kube-controller-manager, kube-scheduler: no route"


def parsed(*texts: str) -> frozenset[Right]:
    return frozenset(map(Right.parse, texts))


@pytest.mark.parametrize(
    ("lacking", "expected"),
    [
        ((), [("OK", "rights")]),
        (("list nodes",), [("FAIL", "rights")]),
        (("get pods",), [("WARN", "rights")]),
        (("list events",), [("WARN", "rights")]),
        (("get pods", "list events"), [("WARN", "rights"), ("WARN", "rights")]),
    ],
)
def test_rights_are_compared_with_what_was_chosen(
    lacking: tuple[str, ...], expected: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    check = next(check for check, _ in checks())
    table = Table(parsed("list nodes"), parsed("list events"), {check.id: parsed("get pods")})
    monkeypatch.setattr(Table, "load", lambda: table)
    monkeypatch.setattr(rights, "may", lambda *_: False)
    monkeypatch.setattr(rights, "missing", lambda _kube, wanted: parsed(*lacking) & wanted)
    findings = rights.examine(Pages({}), options(), [check])
    assert levels(findings) == expected
    for right in lacking:
        assert any(right in finding.says for finding in findings)


def test_rights_that_nobody_recorded_are_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    check = next(check for check, _ in checks())
    monkeypatch.setattr(Table, "load", lambda: Table(frozenset(), frozenset(), {}))
    monkeypatch.setattr(rights, "may", lambda *_: False)
    (finding,) = rights.examine(Pages({}), options(), [check])
    assert finding.level == "WARN"
    assert finding.says == f"it is not recorded what 1 of 1 chosen checks need: {check.id}"
    assert finding.remedy.startswith("python -m fixtures.rights --record, ")
    monkeypatch.setattr(rights, "may", lambda *_: True)
    assert levels(rights.examine(Pages({}), options(), [check])) == [("OK", "rights")]


def test_leftovers_are_counted_by_run(memory: Memory) -> None:
    assert levels(leftovers.examine(memory)) == [("OK", "leftovers")]
    for kind, name, labels in [
        ("Namespace", "dra-1", {RUN_LABEL: "run-1"}),
        ("DeviceClass", "a", {RUN_LABEL: "run-1"}),
        ("DeviceClass", "b", {RUN_LABEL: "run-1"}),
        ("ClusterRole", "c", {RUN_LABEL: "run-2"}),
        ("ClusterRole", "d", {}),
        ("Node", "w1", {TAKEN_LABEL: "x"}),
    ]:
        memory.put({"kind": kind, "metadata": {"name": name, "labels": labels}})
    first, second, taken = leftovers.examine(memory)
    assert first.says == "of run run-1: 1 namespaces, 2 deviceclasses"
    assert first.remedy.endswith("kubectl delete namespaces,deviceclasses -l dra-conformance/run=run-1")
    assert second.says == "of run run-2: 1 clusterroles"
    assert taken.says.endswith(": w1")
    assert memory.done == [], "nothing is changed"


def test_leftovers_that_may_not_be_listed_are_said(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(kind: str, *_: Any, **__: Any) -> list[Object]:
        if kind == "ClusterRole":
            raise Refused(memory.problem(404))  # type: ignore[no-untyped-call]
        return []

    monkeypatch.setattr(memory, "list", listed)
    (hidden,) = leftovers.examine(memory)
    assert "clusterroles" in hidden.says


def test_images_of_no_registry_must_be_on_the_nodes(memory: Memory) -> None:
    whole, lacking = node("w1", "v1", "c://2", *IMAGES), node("w2", "v1", "c://2", IMAGES[0])
    presence, images = driver.examine(memory, options(), [whole])
    assert (presence.level, images.level) == ("OK", "OK")
    _, images = driver.examine(memory, options(), [whole, lacking])
    assert (images.level, images.says) == ("FAIL", f"{IMAGES[1]} not on w2, and no registry has them")
    mirrored = options(**{"image-registry": "registry.example.com"})
    assert driver.examine(memory, mirrored, [lacking])[1].level == "OK"


def test_a_preinstalled_driver_must_be_there(memory: Memory) -> None:
    fake = load("fake")
    install = fake.install.model_copy(update={"kind": "preinstalled", "files": ()})
    workload = fake.workload.model_copy(update={"namespace": "gpu", "daemon_sets": ("plugin",)})
    names = {
        "install": install,
        "workload": workload,
        "name": "gpu.example.com",
        "claim": Claim.model_validate({"deviceClassName": "gpu"}),
    }
    chosen = replace(options(), driver=fake.model_copy(update=names))

    def says() -> tuple[str, str]:
        finding = driver.examine(memory, chosen, [])[0]
        return finding.level, finding.says

    assert says() == ("FAIL", "no DaemonSet plugin in namespace gpu")
    status = {"numberReady": 1, "desiredNumberScheduled": 2}
    memory.put({"kind": "DaemonSet", "metadata": {"name": "plugin", "namespace": "gpu"}, "status": status})
    assert says() == ("FAIL", "no ResourceSlice of gpu.example.com")
    memory.put({"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {"driver": "gpu.example.com"}})
    assert says() == ("FAIL", "there is no DeviceClass gpu")
    memory.put({"kind": "DeviceClass", "metadata": {"name": "gpu"}})
    assert says() == ("WARN", "gpu.example.com: 1 of 2 pods Ready, 1 ResourceSlices")


@pytest.mark.parametrize(
    ("socket", "level"),
    [
        ("/var/lib/kubelet/plugins_registry/x-reg.sock", "OK"),
        ("/data/kubelet/plugins_registry/x-reg.sock", "FAIL"),
        ("", "WARN"),
    ],
)
def test_the_kubelets_root_shows_in_what_is_registered(socket: str, level: str) -> None:
    series = f'plugin_manager_total_plugins{{socket_path="{socket}",state="actual_state_of_world"}} 1\n'
    kube = Pages({"/api/v1/nodes/w1/proxy/metrics": series})
    assert trial.kubelet_root(kube, ["w1"], Path("/var/lib/kubelet")).level == level


def test_an_api_that_does_not_answer_is_all_there_is_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = Pages({"/version": urllib3.exceptions.HTTPError("connection refused")})
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: dead)
    (finding,) = doctor.cluster(options(), HANDLE, foreseen(options()), print)
    assert (finding.level, finding.about) == ("FAIL", "API")
    assert "connection refused" in finding.says


@pytest.mark.parametrize(("renewed", "held"), [(True, "run-7"), (False, None)])
def test_a_run_at_work_is_told_by_its_lease(memory: Memory, renewed: bool, held: str | None) -> None:
    assert leftovers.holder(memory) is None
    moment = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=0 if renewed else 1)
    spec = {"holderIdentity": "run-7", "leaseDurationSeconds": 60, "renewTime": moment.isoformat()}
    metadata = {"name": "dra-conformance", "namespace": "dra-conformance"}
    memory.put({"kind": "Lease", "metadata": metadata, "spec": spec})
    assert leftovers.holder(memory) == held


def test_a_cluster_that_cannot_be_used_is_one_finding_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise ClusterError("There is no kubeconfig with a context.", "Name one.")

    monkeypatch.setattr(doctor, "look_at", refuse)
    findings = doctor.examine(options(cluster="existing"), None, print)
    assert findings == [fail("cluster", "There is no kubeconfig with a context.", "Name one.")]


def test_an_existing_cluster_is_examined_and_not_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access("dev", "https://dev:6443", Path("/k"))
    monkeypatch.setattr(doctor, "look_at", lambda *_: (access, HANDLE))
    monkeypatch.setattr(doctor, "cluster", lambda *_: [ok("API", "")])
    found, chosen, api = doctor.examine(options(cluster="existing"), None, print)
    assert found.says == "https://dev:6443 (context dev): devices on w1, w2"
    assert [chosen.level, api.about] == ["OK", "API"]


def test_no_trial_is_made_where_something_failed(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> None:
    for name in ("w1", "w2"):
        memory.put(node(name))
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: memory)
    monkeypatch.setattr(versions, "api", lambda _: ok("API", ""))
    monkeypatch.setattr(gates, "examine", lambda *_: [])
    monkeypatch.setattr(rights, "may", lambda *_: True)
    monkeypatch.setattr(trial, "examine", lambda *_: pytest.fail("must not be tried"))
    findings = doctor.cluster(options(), HANDLE, foreseen(options()), print)
    assert ("FAIL", "images") in levels(findings)
    assert levels(findings)[-1] == ("WARN", "trial")
