"""What the numbers of a liveness probe promise, and what keeps it from being one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drivers.install import Instance
from drivers.manifest import load
from fixtures.driver import Driver
from fixtures.kube import Kube, Timeouts
from fixtures.nodes import DockerShell, NodeShell
from fixtures.probes import liveness_problems, restart_bound

Object = dict[str, Any]
NUMBERS = {"periodSeconds": 5, "failureThreshold": 3, "timeoutSeconds": 4}


def pod(probe: Object | None, ports: list[Object] | None = None) -> Object:
    container: Object = {"name": "driver", "ports": ports or []}
    if probe is not None:
        container["livenessProbe"] = probe
    return {
        "metadata": {"name": "p", "ownerReferences": [{"name": "driver-1a2b3c", "controller": True}]},
        "spec": {
            "nodeName": "n",
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "sidecar"}, container],
        },
        "status": {"containerStatuses": [{"name": "sidecar"}, {"name": "driver", "containerID": "containerd://abc"}]},
    }


def test_a_hung_container_is_back_after_all_that_its_probe_allows() -> None:
    assert restart_bound(pod(NUMBERS), "driver", start=10) == 5 * 3 + 4 + 30 + 10


def test_the_grace_of_the_probe_goes_before_that_of_the_pod() -> None:
    assert restart_bound(pod({**NUMBERS, "terminationGracePeriodSeconds": 2}), "driver", start=0) == 5 * 3 + 4 + 2


def test_without_a_probe_nobody_restarts_a_hung_container() -> None:
    assert restart_bound(pod(None), "driver", start=10) is None


class One(Kube):
    def __init__(self, item: Object) -> None:
        self.item = item

    def list(self, *_: Any, **__: Any) -> list[Object]:
        return [self.item]


def problems(item: Object, monkeypatch: pytest.MonkeyPatch, *, with_shell: bool = True) -> list[str]:
    monkeypatch.setattr(NodeShell, "listening_ports", lambda _, container: {8081} if container == "abc" else set())
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    shells: dict[str, NodeShell] = {"n": DockerShell("n", Path("docker"))} if with_shell else {}
    return liveness_problems(Driver(One(item), instance, ["n"], shells, Timeouts()))


@pytest.mark.parametrize(
    "probe",
    [
        {"grpc": {"port": 8081}},
        {"httpGet": {"port": "health", "path": "/"}},
        {"tcpSocket": {"port": "8081"}},
        {"exec": {"command": ["true"]}},
    ],
    ids=["grpc", "named port", "number as text", "command"],
)
def test_a_probe_on_a_served_port_is_one(probe: Object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(pod(probe, [{"name": "health", "containerPort": 8081}]), monkeypatch) == []


def test_no_probe_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(pod(None), monkeypatch) == ["container driver of p has no liveness probe"]


@pytest.mark.parametrize("port", [9, -1])
def test_a_probe_on_a_port_that_nobody_serves_is_a_problem(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = problems(pod({"grpc": {"port": port}}), monkeypatch)
    assert found == [f"probe of p asks port {port}, served are [8081]"]


def test_without_a_way_onto_the_node_only_the_declaration_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(pod({"grpc": {"port": 9}}), monkeypatch, with_shell=False) == []
