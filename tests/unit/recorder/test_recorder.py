"""The recorder: what it keeps of objects, how it follows a kind, and how a check reads its own stretch."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fixtures.kube.api import Kube, WatchExpired
from fixtures.kube.retries import TRANSIENT
from fixtures.recorder import __main__ as process
from fixtures.recorder import reading
from fixtures.recorder.facts import RegistrationFacts
from fixtures.recorder.invariants import Violation
from fixtures.recorder.reading import Recorder
from fixtures.recorder.registrations import look
from fixtures.recorder.seen import Seen

Object = dict[str, Any]


def item(name: str = "x", namespace: str | None = "ns", **more: Any) -> Object:
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "9", **more.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"metadata": metadata, "spec": {}, **more}


@pytest.mark.parametrize(
    ("kind", "seen", "facts"),
    [
        (
            "Pod",
            item(),
            {"phase": "Pending", "ready": False, "node": None, "restarts": 0, "waiting": [], "owner": None},
        ),
        (
            "Pod",
            item(
                metadata={"ownerReferences": [{"name": "ds"}]},
                spec={"nodeName": "n"},
                status={
                    "phase": "Running",
                    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}],
                    "containerStatuses": [
                        {"restartCount": 2, "state": {"running": {}}},
                        {"restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
                    ],
                },
            ),
            {
                "phase": "Running",
                "ready": True,
                "node": "n",
                "restarts": 3,
                "waiting": ["CrashLoopBackOff"],
                "owner": "ds",
            },
        ),
        ("ResourceClaim", item(), {"allocated": False, "devices": [], "reserved": [], "finalizers": []}),
        (
            "ResourceClaim",
            item(
                metadata={"finalizers": ["f"]},
                status={
                    "allocation": {
                        "devices": {
                            "results": [
                                {"driver": "d", "pool": "p", "device": "own"},
                                {"driver": "d", "pool": "p", "device": "looked-at", "adminAccess": True},
                                {"driver": "d", "pool": "p", "device": "shared", "shareID": "1"},
                            ]
                        }
                    },
                    "reservedFor": [{"resource": "pods", "uid": "u"}, {"resource": "jobs", "uid": "v"}],
                },
            ),
            {
                "allocated": True,
                "devices": [{"driver": "d", "pool": "p", "name": "own"}],
                "reserved": ["u"],
                "finalizers": ["f"],
            },
        ),
        (
            "ResourceSlice",
            item(
                namespace=None,
                spec={
                    "driver": "d",
                    "nodeName": "n",
                    "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
                    "devices": [{}, {}],
                },
            ),
            {"driver": "d", "node": "n", "pool": "p", "generation": 3, "count": 2, "devices": 2},
        ),
        (
            "ResourceSlice",
            item(
                namespace=None,
                spec={"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": None},
            ),
            {"driver": "d", "node": None, "pool": "p", "generation": 1, "count": 1, "devices": 0},
        ),
        (
            "Node",
            item(spec={"unschedulable": True}, status={"conditions": [{"type": "Ready", "status": "True"}]}),
            {"ready": True, "unschedulable": True},
        ),
        ("Node", item(), {"ready": False, "unschedulable": False}),
        (
            "Event",
            item(type="Warning", reason="R", message="m" * 900, involvedObject={"kind": "Pod", "name": "p"}),
            {"severity": "Warning", "reason": "R", "message": "m" * 400, "about": "Pod/p"},
        ),
        ("Namespace", item(metadata={"annotations": {"dra-conformance/mark": "m"}}), {"mark": "m"}),
        ("Namespace", item(), {"mark": None}),
    ],
)
def test_the_facts_of_an_object_are_few(kind: str, seen: Object, facts: Object) -> None:
    assert json.loads(json.dumps(asdict(Seen.of(kind, "ADDED", seen, 0))))["facts"] == facts


def test_a_line_says_when_what_whose_and_whether_it_is_leaving() -> None:
    seen = item(metadata={"deletionTimestamp": "2026"})
    made = Seen.of("Node", "MODIFIED", seen, 12.34567)
    assert Seen.from_json(made.to_json()) == made
    assert json.loads(made.to_json()) == {
        "at": 12.346,
        "kind": "Node",
        "change": "MODIFIED",
        "namespace": "ns",
        "name": "x",
        "uid": "uid-x",
        "terminating": True,
        "facts": {"ready": False, "unschedulable": False},
    }


def test_a_namespace_is_in_itself() -> None:
    assert Seen.of("Namespace", "ADDED", item("mine", None), 0).namespace == "mine"


class Ended(Exception):
    """The script is over."""


class Script(Kube):
    """Listings, each followed by its watches; a watch is a list of events, or an exception."""

    def __init__(self, *steps: tuple[list[Object], list[Any]]) -> None:
        self.steps = list(steps)
        self.since: list[str] = []

    def listing(self, *_: Any, **__: Any) -> tuple[list[Object], str]:
        if not self.steps:
            raise Ended
        self.watches = iter(self.steps[0][1])
        return self.steps.pop(0)[0], "1"

    def watch(self, kind: str, since: str, *_: Any, **__: Any) -> Generator[tuple[str, Object]]:
        assert kind == "Namespace"
        self.since.append(since)
        for step in next(self.watches, [Ended()]):
            if isinstance(step, Exception):
                raise step
            yield step


def followed(script: Script, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    events = io.StringIO()
    with pytest.raises(Ended):
        process.follow(script, "Namespace", process.Writer(events, io.StringIO()))
    rows = [json.loads(row) for row in events.getvalue().splitlines()]
    return [(row["change"], row["name"]) for row in rows]


def test_a_followed_kind_is_recorded_change_by_change(monkeypatch: pytest.MonkeyPatch) -> None:
    bookmark = ("BOOKMARK", {"metadata": {"resourceVersion": "77"}})
    script = Script(([item("a")], [[("ADDED", item("b")), ("DELETED", item("a"))], [bookmark], []]))
    assert followed(script, monkeypatch) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert script.since == ["1", "9", "77", "77"]


@pytest.mark.parametrize("trouble", [WatchExpired("too old"), TRANSIENT[-1]("reset")])
def test_what_changed_while_a_watch_was_lost_is_recorded_later(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    before = [item("stays"), item("changes"), item("goes")]
    after = [item("stays"), item("changes", metadata={"resourceVersion": "10"}), item("comes")]
    seen = followed(Script((before, [[trouble]]), (after, [])), monkeypatch)
    assert seen[3:] == [("DELETED", "goes"), ("MODIFIED", "changes"), ("ADDED", "comes")]


def test_the_writer_keeps_violations_apart() -> None:
    events, violations = io.StringIO(), io.StringIO()
    writer = process.Writer(events, violations)
    allocation = {"devices": {"results": [{"driver": "d", "pool": "p", "device": "v"}]}}
    writer.add("ResourceClaim", "ADDED", item(status={"allocation": allocation}))
    writer.tick()
    (event,) = map(json.loads, events.getvalue().splitlines())
    (violation,) = map(json.loads, violations.getvalue().splitlines())
    assert event["facts"]["devices"] == [{"driver": "d", "pool": "p", "name": "v"}]
    assert violation["namespace"] == "ns"
    assert violation["drivers"] == ["d"]
    assert "without the finalizer" in violation["text"]


class Marking(Kube):
    """A cluster whose recorder, if it works, sees a mark as soon as it is made."""

    def __init__(self, state: Path, *, records: bool = True) -> None:
        self.events, self.records = state / "recorder" / "events.jsonl", records

    def patch(self, kind: str, name: str, namespace: str | None, patch: Object, *_: Any, **__: Any) -> Object:
        if self.records:
            seen = Seen.of(kind, "MODIFIED", item(name, namespace, **patch), time.time())
            with self.events.open("a") as file:
                file.write(seen.to_json() + '\n{"a line that is being writ')
        return {}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "recorder").mkdir()
    return tmp_path


def record(state: Path, kind: str, namespace: str | None, name: str = "x", **facts: Any) -> None:
    row = {"at": 5.0, "kind": kind, "change": "ADDED", "namespace": namespace, "name": name, "uid": "u"}
    with (state / "recorder" / "events.jsonl").open("a") as file:
        file.write(json.dumps({**row, "terminating": False, "facts": facts}) + "\n")


def test_a_stretch_is_what_concerns_the_check_and_came_since_it_began(state: Path) -> None:
    record(state, "Pod", "mine", "before")
    recorder = Recorder(state, Marking(state))
    record(state, "Pod", "mine", "mine")
    record(state, "Pod", "other", "other")
    record(state, "Node", None, "node")
    record(state, "ResourceSlice", None, "my slice", driver="d.example")
    record(state, "ResourceSlice", None, "other slice", driver="e")
    record(state, "Registration", None, "d.example-1-reg.sock")
    record(state, "Registration", None, "e.example-1-reg.sock")
    mine = ["mine", "node", "my slice", "d.example-1-reg.sock"]
    assert [seen.name for seen in recorder.so_far("mine", "d.example")] == mine
    *stretch, mark = recorder.stretch("mine", "d.example")
    assert [seen.name for seen in stretch] == mine
    assert mark.kind == "Namespace"


def test_registrations_are_told_when_they_come_and_go() -> None:
    class Kubelet(Kube):
        def __init__(self) -> None:
            self.sockets: list[str] = []

        def raw(self, method: str, path: str, **_: Any) -> str:
            assert (method, path) == ("get", "/api/v1/nodes/n/proxy/metrics")
            rows = [
                f'plugin_manager_total_plugins{{socket_path="/r/{s}",state="actual_state_of_world"}} 1\n'
                for s in self.sockets
            ]
            return "".join(
                [*rows, 'plugin_manager_total_plugins{socket_path="/r/z",state="desired_state_of_world"} 1\n']
            )

    kubelet, known = Kubelet(), set[str]()

    def changes() -> list[tuple[str, str]]:
        found = [Seen.of("Registration", change, what, 1.0) for change, what in look(kubelet, "n", known)]
        assert all(seen.facts == RegistrationFacts("n", seen.name) for seen in found)
        return [(seen.change, seen.name) for seen in found]

    assert changes() == []
    kubelet.sockets = ["a-reg.sock", "b-reg.sock"]
    assert changes() == [("ADDED", "a-reg.sock"), ("ADDED", "b-reg.sock")]
    assert changes() == []
    kubelet.sockets = ["b-reg.sock"]
    assert changes() == [("DELETED", "a-reg.sock")]


def test_a_recorder_that_does_not_catch_up_is_an_error(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_CATCH_UP", 0.5)
    record(state, "Pod", "mine")
    with pytest.raises(TimeoutError, match="behind"):
        Recorder(state, Marking(state, records=False)).stretch("mine")


def test_a_check_hears_of_violations_in_its_namespace_or_by_its_driver_since_it_began(state: Path) -> None:
    rows = [
        (1.0, "mine", [], "before"),
        (9e9, "mine", [], "in my namespace"),
        (9e9, "other", ["d"], "by my driver"),
        (9e9, "other", ["e"], "elsewhere"),
        (9e9, None, ["d"], "of my pool"),
    ]
    recorder = Recorder(state, Marking(state))
    assert recorder.violations("mine", "d") == []
    keys = ("at", "namespace", "drivers", "text")
    text = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)
    (state / "recorder" / "violations.jsonl").write_text(text)
    found = recorder.violations("mine", "d")
    assert [violation.text for violation in found] == ["in my namespace", "by my driver", "of my pool"]
    assert found[1] == Violation(9e9, "other", ("d",), "by my driver")
    assert [violation.text for violation in recorder.violations("mine", None)] == ["in my namespace"]


def test_a_violation_that_is_being_written_is_left_for_the_next_reader(state: Path) -> None:
    whole = json.dumps({"at": 2.0, "namespace": None, "drivers": [], "text": "whole"}) + "\n"
    path = state / "violations.jsonl"
    path.write_text(whole + '{"at": 2.0, "names')
    assert [violation.text for violation in reading.read_violations(path, 0)] == ["whole"]


def test_a_recorder_is_known_by_its_process_not_by_a_number(state: Path) -> None:
    assert not Recorder.runs(state)
    (state / "recorder" / "pid").write_text(str(os.getpid()))
    assert not Recorder.runs(state)
    (state / "recorder" / "pid").write_text("not a number")
    assert not Recorder.runs(state)


def test_a_started_recorder_runs_on_its_own(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "c", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            }
        )
    )
    state = tmp_path / "state"
    Recorder.start(state, kubeconfig)
    pid = int((state / "recorder" / "pid").read_text())
    try:
        assert Recorder.runs(state)
        assert os.getsid(pid) != os.getsid(0)
    finally:
        os.kill(pid, signal.SIGKILL)
    assert (state / "recorder" / "log").read_text() == ""
