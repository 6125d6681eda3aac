"""The suite as a Job: what is applied, what the pod does, and how the report gets out of the cluster."""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from drivers.loading import load
from fixtures.check.collected import checks
from fixtures.cluster import suite_image
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.node_image.archive import Image
from fixtures.incluster import __main__ as command
from fixtures.incluster import pod
from fixtures.incluster.manifests import NAME, NAMESPACE, REPORT, Order, manifests
from fixtures.incluster.report import await_report, packed, unpack
from fixtures.kube.api import Kube
from fixtures.rights.right import Right, given_by
from fixtures.rights.table import Table

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]


def objects(*, disruptive: bool = False, claim: str = "", words: tuple[str, ...] = ()) -> dict[str, Object]:
    order = Order("registry.example.com/suite:1", words, disruptive, claim)
    rights = [Right.parse("list nodes"), Right.parse("get pods/log")]
    found = {item["kind"]: item for item in yaml.safe_load_all(manifests(order, load("fake"), rights))}
    assert found
    return found


def test_the_job_runs_under_the_role_that_was_worked_out() -> None:
    made = objects()
    assert sorted(map(str, given_by(made["ClusterRole"]["rules"]))) == ["get pods/log", "list nodes"]
    spec = made["Job"]["spec"]["template"]["spec"]
    account = made["ServiceAccount"]["metadata"]
    assert spec["serviceAccountName"] == account["name"]
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        (subject,) = made[kind]["subjects"]
        assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
    assert made["Role"]["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]}]


def test_the_pod_is_one_that_restricted_namespaces_take() -> None:
    made = objects()
    assert made["Namespace"]["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}
    spec = made["Job"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert not any("hostPath" in volume for volume in spec["volumes"])


@pytest.mark.parametrize(("disruptive", "strength"), [(False, "preferred"), (True, "required")])
def test_the_pod_is_off_the_nodes_that_are_disturbed(disruptive: bool, strength: str) -> None:
    affinity = objects(disruptive=disruptive)["Job"]["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    assert [key[: len(strength)] for key in affinity] == [strength]
    assert "'key': 'dra-conformance/devices', 'operator': 'DoesNotExist'" in str(affinity)


def test_words_arrive_as_they_are_and_reports_go_where_they_are_wanted() -> None:
    words = ('--dra-exempt=a=it\'s "known"', "-n", "2")
    spec = objects(words=words, claim="reports")["Job"]["spec"]["template"]["spec"]
    assert tuple(spec["containers"][0]["args"]) == words
    assert {"name": "report", "persistentVolumeClaim": {"claimName": "reports"}} in spec["volumes"]
    assert {"name": "report", "emptyDir": {}} in objects()["Job"]["spec"]["template"]["spec"]["volumes"]


def test_the_command_line_chooses_image_words_and_rights(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: dict[str, frozenset[Right]] = {check.id: frozenset() for check, _ in checks()}
    monkeypatch.setattr(Table, "load", lambda: Table(frozenset({Right.parse("list nodes")}), frozenset(), rows))
    options = ["--practice=rbac", "--disruptive", "--dra-image-registry=reg.io/x"]
    assert command.main(["manifests", *options, "--", "-n", "2"]) == 0
    made = {item["kind"]: item for item in yaml.safe_load_all(capsys.readouterr().out)}
    (container,) = made["Job"]["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("reg.io/x/dra-conformance/suite:")
    assert container["args"] == [
        *("--dra-practice=rbac", "--dra-driver=fake", "-n", "2", "--dra-image-registry=reg.io/x"),
        *("--dra-allow-disruptive", "--dra-context=in-cluster"),
    ]
    assert made["ClusterRole"]["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]


@pytest.mark.parametrize("words", [["manifests", "--practice=x"], ["fetch", "--kubeconfig=/nonexistent", "out"]])
def test_wrong_words_end_with_exit_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 2
    assert capsys.readouterr().err


def run_directory(root: Path) -> Path:
    run = root / "run-1"
    (run / "checks" / "a.b.c").mkdir(parents=True)
    (run / "allure-results").mkdir()
    (run / "allure-results" / "x.json").write_text("{}")
    (run / "summary.md").write_text("# conformant\n")
    (run / "conformance-report.json").write_text(json.dumps({"verdict": "conformant"}))
    (run / "checks" / "a.b.c" / "timeline.txt").write_text("t")
    return run


def test_a_report_comes_out_as_it_went_in(tmp_path: Path) -> None:
    item = packed(run_directory(tmp_path), "ns", "name")
    assert item["data"] == {"summary.md": "# conformant\n"}
    written = unpack(item, tmp_path / "out")
    assert sorted(str(path.relative_to(tmp_path / "out")) for path in written) == [
        *("checks/a.b.c/timeline.txt", "conformance-report.json", "summary.md"),
    ]
    assert (tmp_path / "out" / "summary.md").read_text() == "# conformant\n"


def test_a_report_that_is_too_large_loses_what_explains_single_checks(tmp_path: Path) -> None:
    run = run_directory(tmp_path)
    (run / "conformance-report.json").write_bytes(os.urandom(400_000))
    for number in range(3):
        (run / "checks" / "a.b.c" / f"kubelet-{number}.log").write_bytes(os.urandom(300_000))
    item = packed(run, "ns", "name")
    assert len(json.dumps(item)) < 1_000_000
    names = {path.name for path in unpack(item, tmp_path / "out")}
    assert {"summary.md", "conformance-report.json", "timeline.txt"} <= names
    assert "kubelet-2.log" not in names


def job_pod(phase: str) -> Object:
    metadata = {"name": "suite", "namespace": NAMESPACE, "labels": {"app": NAME}}
    return {"kind": "Pod", "metadata": metadata, "status": {"phase": phase}}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_report_is_there_when_the_job_has_ended(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, phase: str
) -> None:
    monkeypatch.setattr(memory, "raw", lambda *_: "{}", raising=False)
    memory.put(job_pod("Running"))
    memory.later = [lambda: memory.put(packed(run_directory(tmp_path), NAMESPACE, REPORT) | {"kind": "ConfigMap"})]
    memory.later.append(lambda: memory.put(job_pod(phase)))
    assert await_report(memory, 5)["data"] == {"summary.md": "# conformant\n"}


def test_a_job_that_is_not_there_or_leaves_nothing_is_told(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> str:
        raise memory.problem(404)

    monkeypatch.setattr(memory, "raw", gone, raising=False)
    with pytest.raises(ClusterError, match="There is no Job"):
        await_report(memory, 5)
    monkeypatch.setattr(memory, "raw", lambda *_: "{}")
    memory.put(job_pod("Failed"))
    with pytest.raises(ClusterError, match=r"left no ConfigMap[^\n]*\nRemedy: See `kubectl -n dra-conformance logs"):
        await_report(memory, 5)
    memory.put(job_pod("Pending"))
    with pytest.raises(ClusterError, match="has not ended"):
        await_report(memory, 1e-9)


def test_the_pod_runs_the_suite_here_and_leaves_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: Memory
) -> None:
    started: list[list[str]] = []

    class Process:
        def __init__(self, words: list[str]) -> None:
            started.append(words)
            run_directory(tmp_path)

        def wait(self) -> int:
            return 3

    account = tmp_path / "account"
    monkeypatch.setattr(pod, "_REPORTS", tmp_path)
    monkeypatch.setattr("subprocess.Popen", Process)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(pod, "single_out", lambda *_: type("Access", (), {"kubeconfig": account}))
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: memory)
    monkeypatch.setenv("REPORT_NAMESPACE", "ns")
    monkeypatch.setenv("REPORT_NAME", "name")
    assert pod.main(["-n", "2"]) == 3
    assert started[0][3:5] == ["suites", "-p"]
    assert started[0][-3:] == [f"--dra-report-dir={tmp_path}", "-n", "2"]
    assert memory.get("ConfigMap", "name", "ns")["data"]["summary.md"] == "# conformant\n"


def test_the_image_without_a_builder_is_that_of_the_containerfile(tmp_path: Path) -> None:
    python = Image(
        "python:1", [], {"/usr/bin/python3": tmp_path}, {}, command=["python3"], environment=["PYTHONPATH=/x"]
    )
    made = suite_image.of_suite(python, "reg.io/suite:1")
    lines = (Path(pod.__file__).parent / "Containerfile").read_text().splitlines()
    (entrypoint,) = (line.partition(" ")[2] for line in lines if line.startswith("ENTRYPOINT"))
    assert (made.reference, made.entrypoint, made.command) == ("reg.io/suite:1", json.loads(entrypoint), [])
    assert made.environment == ["PYTHONPATH=/x"]
    places = {place.removeprefix("/suite/") for place in made.files}
    assert {"conftest.py", "suites/catalogue.yaml", "fixtures/incluster/pod.py", "/usr/bin/python3"} <= places
    assert not [place for place in places if "__pycache__" in place or place.startswith(("reports/out", "tests"))]


def test_the_image_has_what_the_suite_needs_to_run_and_nothing_to_develop_it() -> None:
    names = {re.split(r"[^A-Za-z0-9-]", line)[0] for line in suite_image.requirements()}
    assert {"pytest", "kubernetes", "pytest-xdist"} <= names
    assert not {"mypy", "ruff"} & names


def test_the_suite_in_the_image_knows_its_version(tmp_path: Path) -> None:
    suite_image.tell_version(tmp_path)
    (found,) = distributions(path=[str(tmp_path)])
    assert (found.name, found.version) == ("dra-conformance", version("dra-conformance"))


def test_the_suites_own_image_has_all_rooms_that_a_run_needs() -> None:
    text = (Path(pod.__file__).parent / "Containerfile").read_text()
    for room in ("drivers", "fixtures", "reports", "suites"):
        assert f"COPY {room} {room}" in text
