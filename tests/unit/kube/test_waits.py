"""Waits on a scripted API server and a scripted clock: what they see, when they stop, and what they say then."""

from __future__ import annotations

import types
from collections.abc import Generator
from typing import Any

import pytest
import urllib3.exceptions

from fixtures.check.outcomes import CheckFailed
from fixtures.kube import informer, waits
from fixtures.kube.api import Kube, Refused, WatchExpired
from fixtures.kube.informer import Scope
from fixtures.kube.waits import dump, stays, summary, wait_for

Object = dict[str, Any]
PODS = Scope("Pod", "ns", "p")


class After:
    """A step of a watch: so many seconds later something happens."""

    def __init__(self, seconds: float, happens: tuple[str, Object] | Exception) -> None:
        self.seconds, self.happens = seconds, happens


class Script(Kube):
    """An API server that answers with one listing after the other and one watch after the other.

    After the last of them it lists the same again, and its watches stay silent for as long as they were asked for.
    """

    def __init__(self, listings: list[list[Object]], watches: list[list[After]], events: list[Object]) -> None:
        self.now = 1000.0
        self.asked: list[str] = []
        self.pauses: list[float] = []
        self.events = events
        self._listings, self._watches = listings, watches

    def listing(
        self, kind: str, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> tuple[list[Object], str]:
        self.asked.append(" ".join(filter(None, ["list", kind, namespace, labels, fields])))
        return (self._listings.pop(0) if len(self._listings) > 1 else self._listings[0]), "1"

    def watch(
        self, kind: str, since: str, seconds: float, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> Generator[tuple[str, Object]]:
        self.asked.append(" ".join(filter(None, ["watch", kind, namespace, labels, fields, "since", since])))
        for step in self._watches.pop(0) if self._watches else [After(seconds + 0.1, StopIteration())]:
            self.now += step.seconds
            if isinstance(step.happens, StopIteration):
                return
            if isinstance(step.happens, Exception):
                raise step.happens
            yield step.happens

    def interrupted_watch(self, *_: Any) -> Generator[tuple[str, Object]]:
        """One that is interrupted while it is closed."""
        try:
            yield "MODIFIED", pod("Running")
            raise AssertionError("nobody goes on")
        finally:
            raise KeyboardInterrupt

    def pause(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 3))
        self.now += seconds

    def list(self, kind: str, namespace: str | None = None, labels: str = "", fields: str = "") -> list[Object]:
        self.listing(kind, namespace, labels, fields)
        return self.events


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(
        *listings: list[Object], watches: list[list[After]] | None = None, events: list[Object] | None = None
    ) -> Script:
        made = Script(list(listings), watches or [], events or [])
        for module in (informer, waits):
            monkeypatch.setattr(module, "time", types.SimpleNamespace(monotonic=lambda: made.now))
        monkeypatch.setattr(
            informer, "threading", types.SimpleNamespace(Event=lambda: types.SimpleNamespace(wait=made.pause))
        )
        return made

    return make


def pod(phase: str, version: str = "2", name: str = "p", **metadata: str) -> Object:
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": version, **metadata}
    return {"kind": "Pod", "metadata": metadata, "status": {"phase": phase}}


def changed(seconds: float, phase: str, version: str = "2", change: str = "MODIFIED", name: str = "p") -> After:
    return After(seconds, (change, pod(phase, version, name)))


def phase_of(pods: list[Object], wanted: str) -> Object | None:
    return next((pod for pod in pods if pod["status"]["phase"] == wanted), None)


def wait_for_running(kube: Kube, timeout: float = 30, **more: Any) -> Object:
    return wait_for(kube, PODS, lambda pods: phase_of(pods, "Running"), timeout=timeout, what="p Running", **more)


def test_what_is_true_at_once_needs_no_watch(script: Any) -> None:
    kube = script([pod("Running")])
    assert wait_for_running(kube)["status"]["phase"] == "Running"
    assert kube.asked == ["list Pod ns metadata.name=p"]


def test_an_interruption_at_the_very_end_of_a_wait_is_not_lost(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kube = script([pod("Pending")])
    monkeypatch.setattr(kube, "watch", kube.interrupted_watch)
    with pytest.raises(KeyboardInterrupt):
        wait_for_running(kube)
    with pytest.raises(KeyboardInterrupt):
        stays(kube, PODS, lambda pods: "ran" if phase_of(pods, "Running") else None, seconds=30, what="p does not run")


def test_a_wait_returns_what_its_predicate_returned(script: Any) -> None:
    assert wait_for(script([]), PODS, lambda pods: f"{len(pods)} pods", timeout=1, what="x") == "0 pods"


def test_a_wait_sees_additions_changes_and_deletions(script: Any) -> None:
    kube = script(
        [pod("Pending")],
        watches=[
            [
                changed(1, "Pending", "2", "ADDED", "q"),
                changed(1, "Running", "3", "MODIFIED", "q"),
                changed(1, "Pending", "4", "DELETED"),
            ]
        ],
    )
    seen: list[list[str]] = []

    def only_q(pods: list[Object]) -> bool:
        seen.append([f"{p['metadata']['name']} {p['status']['phase']}" for p in pods])
        return [p["metadata"]["name"] for p in pods] == ["q"]

    wait_for(kube, PODS, only_q, timeout=30, what="q alone")
    assert seen == [["p Pending"], ["p Pending", "q Pending"], ["p Pending", "q Running"], ["q Running"]]


def test_the_deletion_of_something_never_seen_changes_nothing(script: Any) -> None:
    kube = script([pod("Pending")], watches=[[changed(1, "x", "2", "DELETED", "q"), changed(1, "Running", "3")]])
    assert wait_for_running(kube)


def test_a_watch_that_the_server_ends_goes_on_where_it_was(script: Any) -> None:
    bookmark = After(1, ("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "50"}}))
    kube = script(
        [pod("Pending")], watches=[[changed(1, "Pending", "7")], [bookmark], [], [changed(1, "Running", "51")]]
    )
    wait_for_running(kube)
    assert kube.asked[1:] == [f"watch Pod ns metadata.name=p since {version}" for version in ("1", "7", "50", "50")]


@pytest.mark.parametrize("trouble", [WatchExpired("too old"), urllib3.exceptions.ProtocolError("reset")])
def test_a_watch_that_breaks_begins_with_a_new_list(script: Any, trouble: Exception) -> None:
    kube = script([pod("Pending")], [pod("Running")], watches=[[After(1, trouble)]])
    assert wait_for_running(kube)
    assert [words.split()[0] for words in kube.asked] == ["list", "watch", "list"]
    assert kube.pauses == [0], "at once"


@pytest.mark.parametrize("trouble", [WatchExpired("too old"), urllib3.exceptions.ProtocolError("reset")])
def test_a_watch_that_keeps_breaking_at_once_pauses_longer_and_longer(script: Any, trouble: Exception) -> None:
    kube = script([pod("Pending")], watches=[[After(0, trouble)]] * 1000)
    with pytest.raises(CheckFailed):
        wait_for_running(kube, timeout=10)
    assert kube.pauses == [0, 0.1, 0.3, 0.7, 1.5, 3, 3, 1.4]
    assert len(kube.asked) < 25


def test_a_watch_that_gave_something_before_it_broke_begins_anew_at_once(script: Any) -> None:
    trouble = After(0, WatchExpired("too old"))
    kube = script([pod("Pending")], watches=[[trouble], [trouble], [changed(1, "Unknown"), trouble], [trouble]])
    with pytest.raises(CheckFailed):
        wait_for_running(kube)
    assert kube.pauses == [0, 0.1, 0, 0.1]


def test_what_was_deleted_while_the_watch_was_broken_is_gone(script: Any) -> None:
    kube = script([pod("Running")], [], watches=[[After(1, WatchExpired("too old"))]])
    assert wait_for(kube, PODS, lambda pods: not pods, timeout=30, what="gone")


def test_a_refused_wait_stops_at_once(script: Any) -> None:
    kube = script([pod("Pending")], watches=[[After(1, Refused.__new__(Refused))]])
    with pytest.raises(Refused):
        wait_for_running(kube)


def test_a_timeout_tells_the_distinct_states_and_when_each_began(script: Any) -> None:
    kube = script(
        [],
        watches=[[changed(2, "Pending", "2", "ADDED"), changed(1, "Pending", "3"), changed(4.25, "Unknown", "4")]],
    )
    with pytest.raises(CheckFailed) as caught:
        wait_for_running(kube, timeout=30)
    assert caught.value.expected == "p Running within 30 s"
    assert caught.value.observed == "nothing from 0.0 s; p Pending from 2.0 s; p Unknown from 7.2 s"
    assert 1030 <= kube.now <= 1032


def test_a_timeout_tells_at_most_the_last_states(script: Any) -> None:
    flips = [changed(1, ("Pending", "Unknown")[n % 2], str(n)) for n in range(20)]
    with pytest.raises(CheckFailed) as caught:
        wait_for_running(script([], watches=[flips]), timeout=25)
    assert caught.value.observed.startswith("(13 earlier states) p Pending from 13.0 s; ")
    assert caught.value.observed.count(" from ") == 8


def test_a_timeout_uses_the_words_it_was_given(script: Any) -> None:
    with pytest.raises(CheckFailed, match=r"observed: phase=Pending from 0\.0 s"):
        wait_for_running(script([pod("Pending")]), shows=lambda p: f"phase={p['status']['phase']}")


def test_a_timeout_ends_with_the_last_warnings_of_the_object(script: Any) -> None:
    events = [
        {
            "type": kind,
            "reason": f"R{n}",
            "message": f"m{n}",
            "metadata": {"creationTimestamp": f"2026-01-01T00:00:0{n}Z"},
        }
        for n, kind in enumerate(["Warning", "Warning", "Normal", "Warning", "Warning"])
    ]
    kube = script([pod("Pending")], events=events[::-1])
    with pytest.raises(CheckFailed) as caught:
        wait_for_running(kube)
    assert caught.value.context == "last events: R1: m1 | R3: m3 | R4: m4"
    assert kube.asked[-1] == "list Event ns involvedObject.name=p"


def test_changes_without_end_do_not_keep_a_wait_alive(script: Any) -> None:
    with pytest.raises(CheckFailed):
        wait_for_running(script([], watches=[[changed(1, "Pending", str(n)) for n in range(10_000)]]), timeout=30)


def test_a_terminal_state_ends_a_wait_at_once(script: Any) -> None:
    kube = script([pod("Pending")], watches=[[changed(3, "Failed")]])
    with pytest.raises(CheckFailed) as caught:
        wait_for_running(kube, timeout=500, never=lambda pods: "it Failed" if phase_of(pods, "Failed") else None)
    assert caught.value.expected == "p Running"
    assert caught.value.observed == "it Failed after 3.0 s; p Pending from 0.0 s; p Failed from 3.0 s"
    assert kube.now == 1003


def still(pods: list[Object]) -> str | None:
    return None if pods and not phase_of(pods, "Failed") else "it is over"


def test_what_stays_is_watched_for_all_the_time_and_no_longer(script: Any) -> None:
    kube = script([pod("Pending")], watches=[[changed(3, "Running")]])
    stays(kube, PODS, still, seconds=20, what="p lives")
    assert 1020 <= kube.now <= 1021


@pytest.mark.parametrize(
    ("listed", "steps", "at"),
    [
        ([], [], "0.0"),
        ([pod("Pending")], [changed(3, "Running"), changed(4, "Failed")], "7.0"),
        ([pod("Pending")], [changed(5, "Pending", "2", "DELETED")], "5.0"),
    ],
    ids=["from the beginning", "by a change", "by a deletion"],
)
def test_what_does_not_stay_fails_at_that_moment(
    script: Any, listed: list[Object], steps: list[After], at: str
) -> None:
    with pytest.raises(CheckFailed) as caught:
        stays(script(listed, watches=[steps] if steps else []), PODS, still, seconds=20, what="p lives")
    assert (caught.value.expected, caught.value.observed) == ("p lives for 20 s", f"it is over after {at} s")


def test_what_broke_while_the_watch_was_broken_does_not_stay(script: Any) -> None:
    with pytest.raises(CheckFailed):
        stays(
            script([pod("Pending")], [], watches=[[After(1, WatchExpired("too old"))]]),
            PODS,
            still,
            seconds=20,
            what="p lives",
        )


def test_a_scope_selects_by_name_and_fields() -> None:
    assert Scope("Pod").field_selector == ""
    assert Scope("Pod", "ns", "p", fields="spec.nodeName=n").field_selector == "metadata.name=p,spec.nodeName=n"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (pod("Running", deletionTimestamp="2026"), "p Terminating Running"),
        (
            {
                "kind": "Pod",
                "metadata": {"name": "p"},
                "status": {
                    "phase": "Pending",
                    "containerStatuses": [
                        {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}},
                        {"name": "side", "state": {"running": {}}},
                        {"name": "done", "state": {"terminated": {}}},
                    ],
                    "conditions": [
                        {"type": "Ready", "status": "False", "reason": "ContainersNotReady"},
                        {"type": "PodScheduled", "status": "True"},
                        {"type": "Initialized", "status": "False"},
                    ],
                },
            },
            "p Pending main ContainerCreating done terminated Ready=ContainersNotReady",
        ),
        ({"kind": "ResourceClaim", "metadata": {"name": "c"}}, "c not allocated not reserved"),
        (
            {"metadata": {"name": "c"}, "status": {"allocation": {"devices": {}}, "reservedFor": [{"uid": "u"}]}},
            "c allocated reserved",
        ),
        ({"metadata": {"name": "d"}, "status": {"desiredNumberScheduled": 2, "numberReady": 1}}, "d 2/0/1"),
        (
            {"metadata": {"name": "s"}, "spec": {"pool": {"name": "n", "generation": 3, "resourceSliceCount": 2}}},
            "s pool n generation 3 count 2",
        ),
        (
            {"metadata": {"name": "e"}, "involvedObject": {"name": "p"}, "reason": "Killing", "message": "Stopping"},
            "Killing: Stopping",
        ),
    ],
)
def test_an_object_is_summed_up_in_a_few_words(item: Object, words: str) -> None:
    assert summary(item) == words


def test_a_dump_leaves_out_what_only_the_server_needs() -> None:
    item = {"kind": "Pod", "metadata": {"name": "p", "managedFields": [{"manager": "x"}]}}
    assert dump(item) == "kind: Pod\nmetadata:\n  name: p\n"
    assert "managedFields" in item["metadata"]
