"""Which disruptions of a driver's sockets its health answer does not show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.cluster.nodes.shell import DockerShell, NodeShell
from fixtures.driver.driver import Driver
from fixtures.driver.sockets import SocketKind
from fixtures.kube import metrics
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts
from fixtures.liveness import probe_results
from fixtures.liveness.probe_results import SOCKET_DISRUPTIONS, SocketDisruption, unnoticed

Object = dict[str, Any]
PROBE = {"periodSeconds": 0.1, "failureThreshold": 2, "timeoutSeconds": 0, "exec": {}}


class Kubelets(Kube):
    """Nodes whose kubelets ask their driver each time somebody looks; `notices` says what the answer depends on."""

    def __init__(self, nodes: list[str], notices: set[str]) -> None:
        self.pods = [self.pod(node) for node in nodes]
        self.notices = notices
        self.ails = dict.fromkeys(nodes, "")
        self.befell: list[str] = []
        self.counts = {(node, result): 0 for node in nodes for result in ("successful", "failed")}

    @staticmethod
    def pod(node: str) -> Object:
        return {
            "metadata": {
                "name": f"p-{node}",
                "uid": f"uid-{node}",
                "ownerReferences": [{"name": "driver-1a2b3c", "controller": True}],
            },
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "driver", "livenessProbe": PROBE}],
            },
            "status": {},
        }

    def list(self, *_: Any, **__: Any) -> list[Object]:
        return self.pods

    def raw(self, method: str, path: str, **_: Any) -> str:
        node = path.split("/")[4]
        assert (method, path) == ("get", f"/api/v1/nodes/{node}/proxy/metrics/probes")
        result = "failed" if self.ails[node] in self.notices else "successful"
        self.counts[node, result] += 1
        rows = [
            f'prober_probe_total{{container="{container}",pod_uid="{uid}",probe_type="{kind}",result="{r}"}} {value}'
            for container, uid, kind in (("driver", f"uid-{node}", "Liveness"), ("driver", f"uid-{node}", "Readiness"))
            for r, value in (("successful", self.counts[node, "successful"]), ("failed", self.counts[node, "failed"]))
            if kind == "Liveness" or r == "successful"
        ]
        return "\n".join(["# TYPE prober_probe_total counter", *rows, ""])

    @contextmanager
    def disrupted(self, driver: Driver, node: str, socket: SocketKind, what: str) -> Iterator[None]:
        assert driver.kube is self
        self.befell.append(f"{socket} {what} {node}")
        self.ails[node] = f"{socket} {what}"
        yield
        self.ails[node] = ""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_results, "_LOOK", 0.01)


def driver_of(kube: Kubelets) -> Driver:
    nodes = list(kube.ails)
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    shells: dict[str, NodeShell] = {node: DockerShell(node, Path("docker")) for node in nodes}
    return Driver(kube, instance, nodes, shells, Timeouts(overrides={"driver_start": 0.1}))


def found(kube: Kubelets) -> list[str]:
    ways = [
        SocketDisruption(kind, what, lambda driver, node, socket, what=what: kube.disrupted(driver, node, socket, what))  # type: ignore[misc]
        for what in ("gone", "hangs")
        for kind in ("service", "registration")
    ]
    return unnoticed(driver_of(kube), ways)


ALL = {"service gone", "registration gone", "service hangs", "registration hangs"}


@pytest.mark.parametrize("nodes", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_a_true_answer_shows_each_disruption(nodes: list[str]) -> None:
    kube = Kubelets(nodes, ALL)
    assert found(kube) == []
    assert {what.rpartition(" ")[0] for what in kube.befell} == ALL
    assert len(kube.befell) == len(ALL)
    assert {what.rpartition(" ")[2] for what in kube.befell} == set(nodes[:2])


@pytest.mark.parametrize("missed", sorted(ALL))
def test_a_disruption_that_the_answer_does_not_show_is_told(missed: str) -> None:
    [problem] = found(Kubelets(["a", "b"], ALL - {missed}))
    kind, what = missed.split()
    assert problem.startswith(f"{kind} socket {what} on ")


def test_an_answer_that_is_never_good_is_no_answer() -> None:
    with pytest.raises(CheckFailed, match="a good health answer of the driver on a"):
        found(Kubelets(["a"], {""}))


def test_the_disruptions_are_those_of_both_sockets() -> None:
    assert [(disruption.socket, disruption.what) for disruption in SOCKET_DISRUPTIONS] == [
        ("service", "is gone"),
        ("registration", "is gone"),
        ("service", "hangs"),
        ("registration", "hangs"),
    ]


def test_only_the_liveness_probe_of_the_container_counts() -> None:
    kube = Kubelets(["a"], set())
    count = metrics.probes(kube, "a", kube.pods[0], "driver", "successful")
    assert count == 1
    assert metrics.probes(kube, "a", kube.pods[0], "other", "successful") == 0
