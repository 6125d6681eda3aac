"""A call that is in flight when its driver is told to stop, judged by the journal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fixtures.check.outcomes import CheckFailed
from fixtures.kube.api import Kube
from fixtures.upgrade.fake_admin import FakeAdmin
from fixtures.upgrade.in_flight import InFlightCall

Object = dict[str, Any]


def entry(start: float, end: float | None, result: str = "ok", **more: str) -> Object:
    return {"method": "NodePrepareResources", "version": "1.0.0", "start": start, "end": end, "result": result, **more}


@pytest.mark.parametrize(
    ("told", "attempts", "over"),
    [
        (10.0, [entry(5, 13)], True),
        (10.0, [entry(5, 9)], False),
        (10.0, [entry(11, 13)], False),
        (10.0, [entry(5, 13, "no")], False),
        (10.0, [entry(5, 13), entry(70, 71)], False),
        (10.0, [], False),
        (None, [entry(5, 13)], False),
    ],
)
def test_one_attempt_spans_the_moment(told: float | None, attempts: list[Object], over: bool) -> None:
    assert InFlightCall(told, attempts).over == over


def test_attempts_are_told_with_their_times() -> None:
    flight = InFlightCall(10.0, [entry(5, 13), entry(70, 71, "no")])
    assert str(flight) == "version 1.0.0 from -5.0 s to +3.0 s: ok; version 1.0.0 from +60.0 s to +61.0 s: no"
    assert str(InFlightCall(10.0, [])) == "no attempt ended"
    assert str(InFlightCall(None, [])) == "the old version did not write that it was told to stop"


class Pod(Kube):
    """The API server's way to a pod that answers what the test says."""

    def __init__(self, *journals: list[Object]) -> None:
        self.put: list[Object] = []
        self._journals = list(journals)

    def raw(self, method: str, path: str, **parameters: Any) -> str:
        base = "/api/v1/namespaces/dra-1a2b3c/pods/driver-x:8082/proxy"
        assert path.startswith(base)
        path = path.removeprefix(base)
        if method == "put":
            self.put.append(parameters["body"])
            return ""
        if path == "/faults":
            return json.dumps({"planted": ["keeps-cdi"], "rules": [{"method": "GetInfo"}]})
        assert path == "/journal"
        journal = self._journals.pop(0) if len(self._journals) > 1 else self._journals[0]
        return "".join(json.dumps(line) + "\n" for line in journal)

    @property
    def admin(self) -> FakeAdmin:
        ports = [{"name": "health", "containerPort": 8081}, {"name": "admin", "containerPort": 8082}]
        metadata = {"name": "driver-x", "namespace": "dra-1a2b3c", "uid": "uid-x"}
        return FakeAdmin(self, {"metadata": metadata, "spec": {"containers": [{}, {"ports": ports}]}})


def test_rules_are_replaced_and_faults_kept() -> None:
    pod = Pod()
    pod.admin.inject(pod.admin.planted(), {"method": "GetInfo", "hang": True})
    assert pod.put == [{"planted": ["keeps-cdi"], "rules": [{"method": "GetInfo", "hang": True}]}]


def test_a_call_is_waited_for_while_the_pod_serves_it() -> None:
    done, other = entry(1, 2, instance="uid-x"), entry(1, None, instance="uid-y")
    served = entry(3, None, instance="uid-x")
    pod = Pod([], [done, other], [done, other, served])
    assert pod.admin.await_entry("NodePrepareResources", 10, in_flight=True) == served
    assert Pod([done]).admin.await_entry("NodePrepareResources", 10) == done


def test_a_call_that_does_not_come_fails_the_check() -> None:
    with pytest.raises(CheckFailed, match="a call NodePrepareResources in the journal of driver-x within 0 s"):
        Pod([entry(1, 2, instance="uid-x")]).admin.await_entry("NodePrepareResources", 0.1, in_flight=True)
