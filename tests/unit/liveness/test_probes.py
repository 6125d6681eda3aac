"""What the numbers of a liveness probe promise, and what keeps it from being one."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.cluster.nodes.shell import DockerShell, NodeShell
from fixtures.driver.driver import Driver
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts
from fixtures.liveness.probes import Promise, await_ready, await_restart, liveness_problems, promise, promised

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"
NUMBERS = {"periodSeconds": 5, "failureThreshold": 3, "timeoutSeconds": 4}


def pod(
    probe: Object | None,
    ports: list[Object] | None = None,
    *,
    restarts: int = 0,
    ready: bool = False,
    plugins: str = "",
) -> Object:
    container: Object = {"name": "driver", "ports": ports or []}
    if probe is not None:
        container["livenessProbe"] = probe
    sidecar = {"name": "sidecar", "volumeMounts": [{"name": "plugins", "mountPath": "/p"}]}
    return {
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": SPACE,
            "ownerReferences": [{"name": "driver-1a2b3c", "controller": True}],
        },
        "spec": {
            "nodeName": "n",
            "terminationGracePeriodSeconds": 30,
            "containers": [sidecar, container],
            "volumes": [{"name": "plugins", "hostPath": {"path": plugins}}] if plugins else [],
        },
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [
                {"name": "sidecar", "containerID": "containerd://side", "restartCount": 7},
                {"name": "driver", "containerID": "containerd://abc", "restartCount": restarts},
            ],
        },
    }


def driver_of(kube: Kube, *, with_shell: bool = True) -> Driver:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    shells: dict[str, NodeShell] = {"n": DockerShell("n", Path("docker"))} if with_shell else {}
    return Driver(kube, instance, ["n"], shells, Timeouts(overrides={"driver_start": 10}))


def test_a_hung_container_is_back_after_all_that_its_probe_allows() -> None:
    noticed = 5 * 3 + 4
    assert promised(pod(NUMBERS), "driver", start=10) == Promise(5, noticed, noticed + 30, noticed + 30 + 10)


def test_a_young_container_is_not_asked_before_its_delay_is_over() -> None:
    assert promised(pod({**NUMBERS, "initialDelaySeconds": 8}), "driver", start=0).noticed == 8 + 5 * 3 + 4


def test_the_grace_of_the_probe_goes_before_that_of_the_pod() -> None:
    assert promised(pod({**NUMBERS, "terminationGracePeriodSeconds": 2}), "driver", start=0).back == 5 * 3 + 4 + 2


class One(Kube):
    def __init__(self, item: Object) -> None:
        self.item = item

    def list(self, *_: Any, **__: Any) -> list[Object]:
        return [self.item]


@pytest.fixture(autouse=True)
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node on which the driver serves port 8081, and both containers listen on unix sockets."""
    monkeypatch.setattr(NodeShell, "listening_ports", lambda _, container: {8081} if container == "abc" else set())
    monkeypatch.setattr(NodeShell, "serving_processes", lambda _, container: [len(container)])


def problems(item: Object, *, with_shell: bool = True) -> list[str]:
    return liveness_problems(driver_of(One(item), with_shell=with_shell))


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
def test_a_probe_on_a_served_port_is_one(probe: Object) -> None:
    assert problems(pod(probe, [{"name": "health", "containerPort": 8081}])) == []


def test_no_probe_is_a_problem() -> None:
    assert problems(pod(None)) == ["container driver of p has no liveness probe"]


@pytest.mark.parametrize("port", [9, -1])
def test_a_probe_on_a_port_that_nobody_serves_is_a_problem(port: int) -> None:
    assert problems(pod({"grpc": {"port": port}})) == [f"probe of p asks port {port}, served are [8081]"]


def test_a_container_that_does_not_run_serves_nothing() -> None:
    item = pod({"grpc": {"port": 8081}})
    del item["status"]["containerStatuses"][1]["containerID"]
    assert problems(item) == ["probe of p asks port 8081, served are []"]


def test_without_a_way_onto_the_node_only_the_declaration_is_judged() -> None:
    assert problems(pod({"grpc": {"port": 9}}), with_shell=False) == []


@pytest.mark.parametrize("path", ["/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry"])
def test_another_container_that_serves_where_plugins_lie_needs_a_probe_too(path: str) -> None:
    item = pod({"grpc": {"port": 8081}}, plugins=path)
    assert problems(item) == ["container sidecar of p has no liveness probe"]


@pytest.mark.parametrize("path", ["", "/var/lib/kubelet/pods", "/run"])
def test_other_containers_need_none(path: str) -> None:
    assert problems(pod({"grpc": {"port": 8081}}, plugins=path)) == []


def test_a_probe_that_is_none_promises_nothing() -> None:
    with pytest.raises(CheckFailed) as caught:
        promise(driver_of(One(pod(None))), "n")
    assert caught.value.observed == "container driver of p has no liveness probe"
    assert promise(driver_of(One(pod({**NUMBERS, "grpc": {"port": 8081}}))), "n").back == 5 * 3 + 4 + 30 + 10


def test_a_restart_is_over_when_the_pod_is_ready_again(memory: Memory) -> None:
    before = memory.put(pod(NUMBERS, restarts=2, ready=True))
    states = [pod(NUMBERS, restarts=2, ready=True), pod(NUMBERS, restarts=3), pod(NUMBERS, restarts=3, ready=True)]
    memory.later = [partial(memory.put, item) for item in states]
    await_restart(driver_of(memory), before, within=30)
    assert memory.later == []


def test_the_restart_of_a_sidecar_is_none(memory: Memory) -> None:
    before = memory.put(pod(NUMBERS, ready=True))
    other = pod(NUMBERS, ready=True)
    other["status"]["containerStatuses"][0]["restartCount"] += 1
    memory.later = [lambda: memory.put(other), lambda: threading.Event().wait(0.3)]
    with pytest.raises(CheckFailed, match="restarts 0, Ready True"):
        await_restart(driver_of(memory), before, within=0.2)


def test_the_driver_of_a_node_becomes_ready(memory: Memory) -> None:
    memory.put(pod(NUMBERS))
    memory.later = [lambda: memory.put(pod(NUMBERS, ready=True))]
    await_ready(driver_of(memory), "n")
    assert memory.later == []
