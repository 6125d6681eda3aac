"""The drain from the first look to the driver's end, on an API server in memory that does what a cluster would."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.dynamic import exceptions

from fixtures.drain import sequence
from fixtures.drain.__main__ import INTERRUPTED, NOT_DONE, USAGE, main
from fixtures.drain.release import Label
from fixtures.drain.sequence import CannotBegin, Drain, DrainRequest, NotDone
from fixtures.kube.api import Kube
from tests.unit.conftest import Memory
from tests.unit.drain.objects import DRIVER, NODE, claim, pod, unallocated

Object = dict[str, Any]
BUDGET = "The disruption budget web needs 1 healthy pods and has 1 currently"


class Cluster(Memory):
    """A node whose pods go when they are evicted, as the pod's `refused` count allows, and free their claims then.

    `prepared` is what the kubelet says of itself, `registered` whether it knows the driver; None: no access.
    """

    def __init__(self) -> None:
        super().__init__()
        self.put({"kind": "Node", "metadata": {"name": NODE, "labels": {"gpu": "true"}}, "spec": {}})
        self.refused: dict[str, int] = {}
        self.evicted: list[str] = []
        self.prepared: list[int] | None = []
        self.registered = True
        self.stuck = False

    def watch(self, kind: str, since: str, seconds: float, *where: Any) -> Generator[tuple[str, Object]]:
        if self.later:
            yield from super().watch(kind, since, seconds, *where)
        else:
            threading.Event().wait(seconds)

    def post(self, path: str, body: Object, *, retry: bool = True) -> Object:  # noqa: ARG002
        name, dry_run = body["metadata"]["name"], bool(body["deleteOptions"]["dryRun"])
        if self.refused.get(name, 0):
            self.refused[name] -= 1
            raise refusal(429, b'{"details": {"causes": [{"reason": "DisruptionBudget", "message": "%s"}]}}')
        if not dry_run:
            self.evicted.append(name)
            leaving = self.get("Pod", name, "web")
            leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            self.put(leaving)
            if not self.stuck:
                self.later.append(lambda: self.leave(name))
        return {}

    def leave(self, name: str) -> None:
        """A pod ends, and with it its claims."""
        self.drop("Pod", name, "web")
        for (kind, _, found), item in list(self.objects.items()):
            users = [user["name"] for user in item.get("status", {}).get("reservedFor", [])]
            if kind == "ResourceClaim" and users == [name]:
                self.put(unallocated(found))

    def raw(self, *_: Any, **__: Any) -> str:
        if self.prepared is None:
            raise self.problem(404)
        left = self.prepared.pop(0) if self.prepared else 0
        socket = f"/var/lib/kubelet/plugins_registry/{DRIVER}-reg.sock"
        state = "actual_state_of_world"
        known = f'plugin_manager_total_plugins{{socket_path="{socket}",state="{state}"}} 1\n' if self.registered else ""
        drivers = ("<any>", DRIVER)
        return known + "".join(f'dra_resource_claims_in_use{{driver_name="{name}"}} {left}\n' for name in drivers)


def refusal(status: int, body: bytes) -> exceptions.DynamicApiError:
    """The error that the client raises for an answer; `%s` in its body is the budget's words."""
    kinds: dict[int, Any] = {403: exceptions.ForbiddenError, 429: exceptions.TooManyRequestsError}
    facts = SimpleNamespace(status=status, reason="", headers={}, body=body.replace(b"%s", BUDGET.encode()))
    error: exceptions.DynamicApiError = kinds[status](facts)
    return error


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "TELL_EVERY", 0.05)
    monkeypatch.setattr(sequence, "LOOK", 0.05)
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


def holder(cluster: Cluster, name: str = "a", **more: Any) -> Cluster:
    """A running pod with a claim of the driver."""
    item = cluster.put(pod(name, claims=[f"{name}-c"], owner=more.pop("owner", "ReplicaSet/r"), **more))
    cluster.put(claim(f"{name}-c", item))
    return cluster


def drained(cluster: Cluster, **request: Any) -> list[str]:
    said: list[str] = []
    Drain(cluster, DrainRequest(NODE, **{"drivers": None, "timeout": 5, **request}), said.append).run()
    return said


def test_a_node_is_cordoned_emptied_and_said_to_be_safe(cluster: Cluster) -> None:
    holder(cluster)
    cluster.put(pod("plain", owner="ReplicaSet/r"))
    said = drained(cluster)
    assert cluster.get("Node", NODE)["spec"]["unschedulable"] is True
    assert cluster.evicted == ["a", "plain"]
    assert said[0] == "node-1 cordoned"
    assert said[1:3] == ["evicting pod web/a", "evicting pod web/plain"]
    assert said[-2] == "node-1: nothing holds a device of any driver: safe to stop"
    assert "kubectl uncordon node-1" in said[-1]


def test_a_drain_for_a_driver_leaves_other_pods_alone(cluster: Cluster) -> None:
    holder(cluster)
    cluster.put(pod("plain", owner="ReplicaSet/r"))
    said = drained(cluster, drivers=frozenset({DRIVER}))
    assert cluster.evicted == ["a"]
    assert f"node-1: nothing holds a device of {DRIVER}: safe to stop" in said


def test_a_budget_is_named_and_asked_again(cluster: Cluster) -> None:
    holder(cluster)
    cluster.refused["a"] = 2
    said = drained(cluster)
    assert said.count(f"not evicted for now: pod web/a: {BUDGET}") == 1, "once, as long as it is the same"
    assert any(line.startswith(f"waiting for pod web/a: {BUDGET}") for line in said)
    assert cluster.evicted == ["a"]


def test_many_pods_with_one_reason_share_a_line(cluster: Cluster) -> None:
    for name in "abcdefg":
        holder(cluster, name)
        cluster.refused[name] = 1
    told = f"not evicted for now: 7 pods web/a, web/b, web/c, web/d, 3 more: {BUDGET}"
    assert told in drained(cluster)


def test_it_goes_on_where_it_was_interrupted(cluster: Cluster) -> None:
    cluster.patch("Node", NODE, None, {"spec": {"unschedulable": True}})
    holder(cluster, leaving=True)
    cluster.later = [lambda: cluster.leave("a")]
    assert drained(cluster)[0] == "node-1 is cordoned already"
    assert cluster.evicted == []


def test_it_waits_for_claims_that_outlive_their_pods(cluster: Cluster) -> None:
    cluster.put(claim("late"))
    cluster.later = [lambda: cluster.drop("ResourceClaim", "late", "web")]
    assert "safe to stop" in drained(cluster)[-2]
    assert not cluster.later


def test_it_waits_until_the_kubelet_has_nothing_prepared(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "TELL_EVERY", 0.0)
    monkeypatch.setattr(sequence, "LOOK", 0.0)
    cluster.prepared = [2, 1, 0]
    said = drained(cluster, drivers=frozenset({DRIVER}))
    assert "waiting for 2 claims that the kubelet has prepared still, though no pod uses them" in said
    assert "safe to stop" in said[-2]


@pytest.mark.parametrize("registered", [True, False])
def test_a_drain_for_all_drivers_waits_only_for_those_that_can_still_unprepare(
    cluster: Cluster, *, registered: bool
) -> None:
    cluster.prepared = [1, 1] if registered else [1] * 4
    cluster.registered = registered
    said = drained(cluster)
    note = f"note: 1 claims of {DRIVER} stay prepared: only its return can unprepare"
    assert (note in said, len(cluster.prepared)) == ((False, 0) if registered else (True, 1))
    assert "safe to stop" in said[-2]


def test_a_drain_for_a_driver_that_is_gone_waits_for_its_return(cluster: Cluster) -> None:
    cluster.prepared = [1] * 100_000
    cluster.registered = False
    with pytest.raises(NotDone, match="1 claims that the kubelet has prepared still"):
        drained(cluster, drivers=frozenset({DRIVER}), timeout=0.2)


def test_without_access_to_the_kubelet_it_says_so_and_takes_the_claims_word(cluster: Cluster) -> None:
    cluster.prepared = None
    said = drained(cluster)
    assert any("the kubelet's metrics cannot be read" in line for line in said)
    assert "safe to stop" in said[-2]


def test_the_driver_is_let_go_at_the_very_end_and_the_way_back_is_told(cluster: Cluster) -> None:
    holder(cluster)
    said = drained(cluster, release=Label("gpu", "off"))
    assert cluster.get("Node", NODE)["metadata"]["labels"]["gpu"] == "off"
    assert said[-2] == "node-1: let go by label gpu=off; afterwards: kubectl label node node-1 --overwrite gpu=true"
    assert "safe to stop" in said[-3]


@pytest.mark.parametrize(
    ("arrange", "told"),
    [
        pytest.param(
            lambda c: holder(c).__dict__.update(stuck=True, registered=False),
            f"{DRIVER} is not registered with the kubelet: nothing ends until the driver is back",
            id="driver gone first",
        ),
        pytest.param(
            lambda c: holder(c, owner="DaemonSet/monitor"),
            "pod web/a of DaemonSet monitor is not ended by a drain: take the node out of its selector",
            id="DaemonSet",
        ),
        pytest.param(
            lambda c: c.put(claim("lost")),
            "nobody uses it: kubectl delete resourceclaim -n web lost",
            id="unused",
        ),
        pytest.param(
            lambda c: holder(c).refused.update(a=10**6),
            f"pod web/a: {BUDGET}",
            id="budget",
        ),
    ],
)
def test_what_does_not_end_in_time_is_told_with_its_remedy(
    cluster: Cluster, arrange: Callable[[Cluster], object], told: str
) -> None:
    arrange(cluster)
    with pytest.raises(NotDone) as caught:
        drained(cluster, timeout=0.1, release=Label("gpu", "off"))
    assert told in str(caught.value).splitlines()
    assert cluster.get("Node", NODE)["metadata"]["labels"]["gpu"] == "true", "the driver stays"


def test_a_rehearsal_tells_all_and_changes_nothing(cluster: Cluster) -> None:
    holder(cluster)
    holder(cluster, "b")
    cluster.refused["b"] = 1
    said: list[str] = []
    Drain(cluster, DrainRequest(NODE, None, 30, Label("gpu", "off")), said.append).rehearse()
    assert said == [
        "would cordon node-1",
        "would evict pod web/a",
        f"would evict pod web/b, not allowed now: {BUDGET}",
        f"would wait for claim web/a-c of {DRIVER}, used by pod web/a",
        f"would wait for claim web/b-c of {DRIVER}, used by pod web/b",
        "would then set label gpu=off on node-1",
    ]
    assert cluster.done == cluster.evicted == []


def test_a_drain_that_would_lose_something_does_not_begin(cluster: Cluster) -> None:
    cluster.put(pod("bare"))
    with pytest.raises(CannotBegin, match="--force"):
        drained(cluster)
    assert cluster.done == []
    assert drained(cluster, force=True)


def test_an_unknown_node_is_answered_with_the_nearest_one(cluster: Cluster) -> None:
    with pytest.raises(CannotBegin, match="no node node-2; did you mean node-1"):
        Drain(cluster, DrainRequest("node-2", None, 1), print).run()
    with pytest.raises(CannotBegin, match="no node other; there are node-1"):
        Drain(cluster, DrainRequest("other", None, 1), print).run()


@pytest.fixture
def command(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line, on that cluster."""
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: cluster)
    return lambda *words: main(list(words))


def test_the_command_ends_with_zero_when_it_is_done(
    command: Callable[..., int], cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    holder(cluster)
    assert command(NODE, "--dry-run") == 0
    assert cluster.evicted == []
    assert command(NODE, "--driver", DRIVER, "--release", "label:gpu=off") == 0
    assert cluster.evicted == ["a"]
    lines = capsys.readouterr().out.splitlines()
    assert all(line[2] == line[5] == ":" for line in lines if not line.startswith(" ")), "each with its time"


def test_the_command_tells_what_is_left_and_how_to_go_on(
    command: Callable[..., int], cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put(claim("lost"))
    assert command(NODE, "--timeout", "0.1") == NOT_DONE
    told = capsys.readouterr().err
    assert "claim web/lost" in told
    assert "stays cordoned: run this again to go on, or kubectl uncordon node-1" in told


@pytest.mark.parametrize("words", [["nowhere"], [NODE, "--release", "gpu=off"], [NODE, "--timeout", "soon"], []])
def test_wrong_words_change_nothing(command: Callable[..., int], cluster: Cluster, words: list[str]) -> None:
    try:
        code: object = command(*words)
    except SystemExit as end:
        code = end.code
    assert code == USAGE
    assert cluster.done == []


def test_ctrl_c_leaves_the_node_cordoned_and_says_how_to_go_on(
    command: Callable[..., int], cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    cluster.put(claim("lost"))
    cluster.later = [interrupt]
    assert command(NODE) == INTERRUPTED
    assert cluster.get("Node", NODE)["spec"]["unschedulable"] is True
    assert "run this again to go on, or kubectl uncordon node-1" in capsys.readouterr().err


def test_who_has_no_access_is_told_what_is_missing(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise refusal(403, b'{"message": "nodes is forbidden"}')

    monkeypatch.setattr(Cluster, "get", refuse)
    assert command(NODE) == USAGE
    assert "not allowed: nodes is forbidden" in capsys.readouterr().err


def test_without_a_kubeconfig_the_options_that_name_one_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert main([NODE, "--kubeconfig", str(tmp_path / "none")]) == USAGE
    assert "--kubeconfig or KUBECONFIG" in capsys.readouterr().err
