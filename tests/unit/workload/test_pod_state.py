"""What a pod holds, what it lost, what its status said of its devices, and what is left when it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.loading import load
from fixtures.kube.allocations import Device
from fixtures.upgrade import device_health
from fixtures.upgrade.device_health import HealthHistory, health_of
from fixtures.upgrade.termination import terminate
from fixtures.workload.pod_state import PodState, losses, pod_state

Object = dict[str, Any]
DEVICE = Device("d.fake.dra", "node-1", "device-0")
BEFORE = PodState(
    uid="uid-1",
    runs=True,
    containers={"main": ("containerd://1", 0)},
    claims={"claim-1": (DEVICE,)},
    seen=frozenset({"d/node-1/device-0"}),
    specs=frozenset({"/var/run/cdi/claim-1.json"}),
)


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (BEFORE, []),
        (replace(BEFORE, specs=BEFORE.specs | {"/var/run/cdi/more.json"}), []),
        (None, ["holder is gone"]),
        (replace(BEFORE, uid="uid-2"), ["holder is gone"]),
        (replace(BEFORE, runs=False), ["holder does not run"]),
        (
            replace(BEFORE, containers={"main": ("containerd://2", 1)}),
            ["container main of holder is another one, restarted 1 times"],
        ),
        (replace(BEFORE, claims={"claim-1": ()}), ["the claims of holder do not hold what they held"]),
        (replace(BEFORE, seen=frozenset()), ["holder no longer sees d/node-1/device-0"]),
        (
            replace(BEFORE, seen=frozenset({"x", "y"})),
            ["holder no longer sees d/node-1/device-0 and sees x, y, which it did not"],
        ),
        (replace(BEFORE, specs=frozenset()), ["the CDI spec of holder is gone: /var/run/cdi/claim-1.json"]),
    ],
)
def test_losses_are_named(after: PodState | None, told: list[str]) -> None:
    assert losses("holder", BEFORE, after) == told


POD = {
    "metadata": {"name": "holder", "uid": "uid-1"},
    "spec": {"nodeName": "node-1"},
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {"name": "main", "containerID": "containerd://1", "restartCount": 0, "state": {"running": {}}}
        ],
    },
}
RESULT = {"request": "device", "driver": DEVICE.driver, "pool": DEVICE.pool, "device": DEVICE.name}
CLAIM = {"metadata": {"uid": "claim-1"}, "status": {"allocation": {"devices": {"results": [RESULT]}}}}


class Workloads:
    """One pod, until it is deleted."""

    namespace = "dra-1a2b3c"

    def __init__(self, pod: Object | None = POD) -> None:
        self.instance = SimpleNamespace(manifest=load("fake"))
        self.kube = SimpleNamespace(find=lambda *_: pod)
        self.done: list[str] = []

    def claims_of(self, name: str) -> dict[str, Object]:
        assert name == "holder"
        return {"device": CLAIM}

    def findings(self, name: str, container: str) -> dict[str, list[str]]:
        assert (name, container) == ("holder", "main")
        return {"environment": ["DRA_FAKE_1=d/node-1/device-0"]}

    def delete(self, name: str) -> None:
        self.done.append(f"delete {name}")

    def await_gone(self, *names: str) -> None:
        self.done.append(f"gone {' '.join(names)}")

    def await_released(self, uids: list[str]) -> None:
        self.done.append(f"released {' '.join(uids)}")


DRIVER: Any = SimpleNamespace(
    nodes=["node-1"], shells={"node-1": SimpleNamespace(cdi_files=lambda uid: [f"/var/run/cdi/{uid}.json"])}
)


def test_a_holding_is_read_from_api_log_and_node() -> None:
    workloads: Any = Workloads()
    assert pod_state(DRIVER, workloads, "holder") == BEFORE


def test_a_pod_that_is_gone_holds_nothing() -> None:
    workloads: Any = Workloads(None)
    assert pod_state(DRIVER, workloads, "holder") is None


def test_what_is_left_is_looked_for_when_the_claims_are_released() -> None:
    workloads: Any = Workloads()
    assert terminate(DRIVER, workloads, ["holder"]).left == ("node-1: /var/run/cdi/claim-1.json",)
    assert workloads.done == ["delete holder", "gone holder", "released claim-1"]


def healthy(name: str, *health: str) -> Object:
    resources = [{"resourceID": f"device-{index}", "health": word} for index, word in enumerate(health)]
    status = {"containerStatuses": [{"allocatedResourcesStatus": [{"name": "claim:device", "resources": resources}]}]}
    return {"metadata": {"name": name, "uid": name}, "status": status if health else {}}


def test_each_change_of_health_is_told_once() -> None:
    history = HealthHistory()
    for at, words in enumerate([(), ("Healthy",), ("Healthy",), ("Unknown", "Healthy"), ("Healthy",)]):
        history.add(at, healthy("holder", *words))
    assert str(history) == (
        "device health in pods, holder: Healthy from 1.0 s, Healthy/Unknown from 3.0 s, Healthy from 4.0 s"
    )


def test_a_version_without_device_health_says_so() -> None:
    history = HealthHistory()
    history.add(0, healthy("holder"))
    assert str(history) == "this version shows no device health in pods"


def test_health_is_watched_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_health, "LOOK", 0.01)

    def snapshots(*_: Any) -> Iterator[list[Object]]:
        yield [healthy("holder", "Unhealthy")]

    monkeypatch.setattr(device_health, "snapshots", snapshots)
    workloads: Any = SimpleNamespace(kube=None, namespace="dra-1a2b3c")
    with health_of(workloads) as history:
        pass
    assert [health for _, health in history.changes["holder"]] in ([], ["Unhealthy"])
