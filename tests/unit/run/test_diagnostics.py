"""The snapshot of a failure: complete when all answers, bounded and silent when something does not."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.cluster.handle import ClusterHandle
from fixtures.cluster.nodes.shell import DockerShell, NodeShell, NodeShellError
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts
from fixtures.recorder.reading import Recorder
from fixtures.run import diagnostics

Object = dict[str, Any]
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJvcGVyYXRvciJ9.c2lnbmF0dXJlLW9mLWEtdG9rZW4"


class Cluster(Kube):
    """Has two pods and an event, or whatever `objects` says; `broken` kinds and logs raise."""

    def __init__(self, broken: set[str] | None = None) -> None:
        self.broken = broken or set()
        self.asked: list[str] = []

    def list(self, kind: str, namespace: str | None = None, labels: str = "", fields: str = "") -> list[Object]:
        self.asked.append(" ".join(filter(None, [kind, namespace, labels, fields])))
        if kind in self.broken:
            raise ConnectionError(f"no {kind} today")
        if kind == "Event":
            return [_event("second", "2026-01-02"), _event("first", None)]
        statuses = [{"name": "driver", "restartCount": 1}, {"name": "side", "restartCount": 0}]
        item = {"kind": kind, "metadata": {"name": "x", "managedFields": []}, "note": f"Bearer {TOKEN}"}
        return [{**item, "status": {"containerStatuses": statuses}}]

    def logs(self, pod: str, namespace: str, container: str, *, previous: bool = False, tail: int = 2000) -> str:
        if "logs" in self.broken:
            raise ConnectionError("no logs today")
        return f"{pod} {namespace} {container} {previous} {tail > 0}\n"


def _event(message: str, last: str | None) -> Object:
    about = {"kind": "Pod", "name": "x"}
    metadata = {"name": "e", "creationTimestamp": "2026-01-01"}
    event = {"type": "Warning", "reason": "R", "message": message, "involvedObject": about, "metadata": metadata}
    return {**event, "lastTimestamp": last, "count": 2}


@pytest.fixture
def check_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckRun:
    monkeypatch.setattr(DockerShell, "run", lambda self, script: f"{self.node}: {script}\n")
    state = tmp_path / "state"
    (state / "recorder").mkdir(parents=True)
    handle = ClusterHandle("standard", "c", Path("k"), "1.37.2", (), frozenset(), Path("k"), Path("d"), state)
    kube = Cluster()
    shells: dict[str, NodeShell] = {"node-1": DockerShell("node-1", Path("docker"))}
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    driver = Driver(kube, instance, ["node-1"], shells, Timeouts())
    return CheckRun(handle, kube, Recorder(state, kube), shells, "ns", driver)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def files(directory: Path) -> dict[str, str]:
    return {str(f.relative_to(directory)): f.read_text() for f in directory.rglob("*") if f.is_file()}


def test_a_snapshot_has_objects_events_logs_and_what_the_nodes_know(check_run: CheckRun, out: Path) -> None:
    diagnostics.snapshot(check_run, out, 1700000000, alive=True)
    found = files(out)
    assert set(found) == {
        "events.txt",
        *(f"objects/{kind}.yaml" for kind in ("pods", "resourceclaims", "daemonsets", "controllerrevisions")),
        "objects/nodes.yaml",
        "objects/resourceslices.yaml",
        "logs/x/driver.log",
        "logs/x/driver.previous.log",
        "logs/x/side.log",
        "nodes/node-1/kubelet.log",
        "nodes/node-1/files.txt",
        "nodes/node-1/journal.jsonl",
    }
    assert found["logs/x/driver.previous.log"] == "x ns driver True True\n"
    assert "--since @1700000000" in found["nodes/node-1/kubelet.log"]
    assert "plugins/d-1a2b3c.fake.dra/journal.jsonl" in found["nodes/node-1/journal.jsonl"]
    assert isinstance(check_run.kube, Cluster)
    assert "ResourceSlice spec.driver=d-1a2b3c.fake.dra" in check_run.kube.asked
    assert "Node" in check_run.kube.asked


def test_events_are_in_the_order_in_which_they_came(check_run: CheckRun, out: Path) -> None:
    diagnostics.snapshot(check_run, out, 0, alive=True)
    assert files(out)["events.txt"] == ("2026-01-01 Warning R Pod/x x2: first\n2026-01-02 Warning R Pod/x x2: second\n")


def test_no_secret_gets_into_a_snapshot(check_run: CheckRun, out: Path) -> None:
    diagnostics.snapshot(check_run, out, 0, alive=True)
    assert not [name for name, text in files(out).items() if TOKEN in text]


@pytest.mark.parametrize("broken", ["Pod", "Event", "ResourceClaim", "ResourceSlice", "logs"])
def test_what_cannot_be_had_is_a_line_and_the_rest_is_there(check_run: CheckRun, out: Path, broken: str) -> None:
    check_run.kube = Cluster({broken})
    diagnostics.snapshot(check_run, out, 0, alive=True)
    found = files(out)
    assert f"ConnectionError: no {broken} today" in found["collector-errors.txt"]
    assert "nodes/node-1/kubelet.log" in found
    assert "objects/nodes.yaml" in found


def test_a_cluster_that_gives_nothing_does_not_hurt(
    check_run: CheckRun, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(shell: DockerShell, _script: str) -> str:
        raise NodeShellError(f"{shell.node} is gone, Bearer {TOKEN}")

    monkeypatch.setattr(DockerShell, "run", fails)
    kinds = {"Pod", "Event", "ResourceClaim", "ResourceSlice", "DaemonSet", "ControllerRevision", "Node"}
    check_run.kube = Cluster(kinds)
    diagnostics.snapshot(check_run, out, 0, alive=True)
    found = files(out)
    assert set(found) == {"collector-errors.txt"}
    assert "nodes/node-1/kubelet.log: NodeShellError: node-1 is gone" in found["collector-errors.txt"]
    assert TOKEN not in found["collector-errors.txt"]


def test_a_dead_api_server_is_not_asked(check_run: CheckRun, out: Path) -> None:
    diagnostics.snapshot(check_run, out, 0, alive=False)
    assert isinstance(check_run.kube, Cluster)
    assert check_run.kube.asked == []
    assert {name.partition("/")[0] for name in files(out)} == {"nodes"}


def test_a_check_that_failed_before_it_had_anything_leaves_nothing(check_run: CheckRun, out: Path) -> None:
    check_run.namespace = check_run.driver = None
    diagnostics.snapshot(check_run, out, 0, alive=True)
    assert files(out) == {}


def test_a_snapshot_ends_in_time_and_says_what_it_left_out(
    check_run: CheckRun, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.0, 29.0])
    monkeypatch.setattr(diagnostics, "time", SimpleNamespace(monotonic=lambda: next(clock, 31.0)))
    diagnostics.snapshot(check_run, out, 0, alive=True)
    found = files(out)
    assert set(found) == {"events.txt", "objects/pods.yaml", "collector-errors.txt"}
    assert "objects/daemonsets.yaml: left out, the snapshot took longer than 30 s" in found["collector-errors.txt"]


def test_of_a_long_text_the_end_is_kept(check_run: CheckRun, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "_FILE_LIMIT", 1000)
    monkeypatch.setattr(DockerShell, "run", lambda _, __: "begin" + "." * 5000 + "end")
    diagnostics.snapshot(check_run, out, 0, alive=False)
    text = files(out)["nodes/node-1/kubelet.log"]
    assert len(text) == 1000
    assert text.endswith("end")


def test_no_secret_is_left_where_a_text_is_cut(check_run: CheckRun, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "_FILE_LIMIT", 1000)
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIE\n" * 60 + "-----END PRIVATE KEY-----\n"
    for distance in range(0, 2200, 50):
        monkeypatch.setattr(DockerShell, "run", lambda _, __, end="x" * distance: f"{key}{end}")
        diagnostics.snapshot(check_run, out, 0, alive=False)
        assert "MIIE" not in files(out)["nodes/node-1/kubelet.log"]


def violations(check_run: CheckRun, *texts: str, namespace: str = "ns", drivers: tuple[str, ...] = ()) -> None:
    at = check_run.recorder.started + 1.5
    rows = [{"at": at, "namespace": namespace, "drivers": drivers, "text": text} for text in texts]
    path = check_run.handle.state / "recorder" / "violations.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_check_without_violations_is_left_alone(check_run: CheckRun) -> None:
    assert diagnostics.broken_invariants(check_run) is None


def test_broken_invariants_are_told_with_their_times(check_run: CheckRun) -> None:
    violations(check_run, *(f"fault {n}" for n in range(9)))
    failure = diagnostics.broken_invariants(check_run)
    assert failure is not None
    assert failure.observed == "; ".join(f"fault {n} (+1.5 s)" for n in range(5))
    assert "invariants" in failure.expected
    assert "timeline.txt" in failure.hint


@pytest.mark.parametrize(
    ("namespace", "drivers", "concerned"),
    [("ns", (), True), ("other", (), False), ("other", ("d-1a2b3c.fake.dra",), True), ("other", ("y.dra",), False)],
)
def test_only_the_checks_own_violations_count(
    check_run: CheckRun, namespace: str, drivers: tuple[str, ...], concerned: bool
) -> None:
    violations(check_run, "fault", namespace=namespace, drivers=drivers)
    assert (diagnostics.broken_invariants(check_run) is not None) == concerned


def test_without_a_namespace_no_violation_is_the_checks_own(check_run: CheckRun) -> None:
    violations(check_run, "fault")
    check_run.namespace = None
    assert diagnostics.broken_invariants(check_run) is None
