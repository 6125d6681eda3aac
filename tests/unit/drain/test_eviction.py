"""Which pods a drain ends, and what it hears when it asks for that."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.dynamic import exceptions

from fixtures.drain.eviction import doomed, evict, losses
from fixtures.kube.api import Conflict, Gone, Kube, Refused
from tests.unit.drain.objects import pod

Object = dict[str, Any]
_KINDS: dict[int, Any] = {
    403: Refused,
    404: Gone,
    409: Conflict,
    429: exceptions.TooManyRequestsError,
    500: exceptions.InternalServerError,
    503: exceptions.ServiceUnavailableError,
}
PLAIN = pod("plain", owner="ReplicaSet/r")
MONITOR = pod("monitor", owner="DaemonSet/d", claims=["c"])


def names(pods: list[Object]) -> list[str]:
    return [item["metadata"]["name"] for item in pods]


def test_a_drain_ends_all_but_the_pods_of_daemon_sets_and_mirrors() -> None:
    mirror = pod("mirror", owner="Node/n")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    over = pod("over", owner="DaemonSet/d", phase="Failed")
    assert names(doomed([PLAIN, MONITOR, mirror, over, pod("bare")], None)) == ["plain", "over", "bare"]


def test_a_drain_for_a_driver_ends_only_those_that_use_its_claims() -> None:
    pods = [PLAIN, MONITOR, pod("user", claims=["c"]), pod("made", made=["m"]), pod("extended", extended="e")]
    assert names(doomed(pods, {"web/c", "web/m", "web/e"})) == ["user", "made", "extended"]
    assert names(doomed(pods, {"other/c"})) == []


def test_what_nobody_allowed_to_lose_is_named_with_the_option_that_allows_it() -> None:
    bare, scratch = pod("bare"), pod("scratch", owner="ReplicaSet/r", volumes=[{"emptyDir": {}}])
    told = losses([PLAIN, bare, scratch], force=False, delete_emptydir_data=False)
    assert len(told) == 2
    assert "web/bare" in told[0]
    assert "--force" in told[0]
    assert "web/scratch" in told[1]
    assert "--delete-emptydir-data" in told[1]
    assert losses([bare, scratch], force=True, delete_emptydir_data=True) == []
    gone = [pod("over", phase="Succeeded"), pod("leaving", leaving=True, volumes=[{"emptyDir": {}}])]
    assert losses(gone, force=False, delete_emptydir_data=False) == []


class Answers(Kube):
    """Answers each eviction as it is told to."""

    def __init__(self, status: int = 0, body: Object | None = None) -> None:
        self.error = (status, json.dumps(body or {"message": "no"}).encode())
        self.asked: list[tuple[str, Object]] = []

    def post(self, path: str, body: Object, *, retry: bool = True) -> Object:
        assert not retry, "a budget may last longer than anybody waits for an answer"
        self.asked.append((path, body))
        status, text = self.error
        if status:
            raise _KINDS[status](SimpleNamespace(status=status, reason="", body=text, headers={}))
        return {}


def test_an_eviction_is_of_just_this_pod() -> None:
    kube = Answers()
    assert evict(kube, PLAIN) is None
    ((path, body),) = kube.asked
    assert path == "/api/v1/namespaces/web/pods/plain/eviction"
    assert body["deleteOptions"] == {"preconditions": {"uid": "uid-plain"}, "dryRun": []}
    evict(kube, PLAIN, dry_run=True)
    assert kube.asked[1][1]["deleteOptions"]["dryRun"] == ["All"]


def test_a_budget_that_does_not_allow_it_is_named() -> None:
    cause = {"reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods and has 2"}
    kube = Answers(429, {"message": "Cannot evict pod", "details": {"causes": [{"reason": "x"}, cause]}})
    assert evict(kube, PLAIN) == cause["message"]


@pytest.mark.parametrize(("status", "told"), [(404, None), (409, None), (500, "no"), (503, "no")])
def test_a_pod_that_is_gone_is_evicted_and_what_passes_is_asked_again(status: int, told: str | None) -> None:
    assert evict(Answers(status), PLAIN) == told


def test_who_may_not_evict_is_told_so() -> None:
    with pytest.raises(Refused):
        evict(Answers(403), PLAIN)
