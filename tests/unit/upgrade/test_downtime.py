"""What is seen of pods, devices and slices while a driver is away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.upgrade.downtime import await_devices_left, await_refusal, await_withdrawn, held_by, keep_devices
from fixtures.workload.workloads import Workloads

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"
INSTANCE = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})


@pytest.fixture
def workloads(memory: Memory) -> Workloads:
    return Workloads(memory, INSTANCE, Timeouts())


def event(reason: str, message: str) -> Object:
    about = {"involvedObject": {"name": "p"}, "reason": reason, "message": message}
    return {"kind": "Event", "metadata": {"name": reason.lower(), "namespace": SPACE}, **about}


def claim(name: str, *devices: str) -> Object:
    results = [{"request": "r", "driver": "d", "pool": "node", "device": device} for device in devices]
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    return {"kind": "ResourceClaim", "metadata": {"name": name, "namespace": SPACE}, "status": status}


def holder(memory: Memory) -> None:
    spec = {"resourceClaims": [{"name": "device", "resourceClaimName": "held"}]}
    memory.put({"kind": "Pod", "metadata": {"name": "p", "namespace": SPACE}, "spec": spec, "status": {}})
    memory.put(claim("held", "device-1"))


def test_a_pod_that_cannot_be_prepared_is_refused_with_the_reason(memory: Memory, workloads: Workloads) -> None:
    memory.put(event("Scheduled", "to node"))
    memory.later = [lambda: memory.put(event("FailedPrepareDynamicResources", "driver d is not registered"))]
    assert await_refusal(workloads, "p") == "driver d is not registered"


def test_a_pod_whose_container_started_is_not_refused(memory: Memory, workloads: Workloads) -> None:
    memory.later = [lambda: memory.put(event("Started", "container main started"))]
    assert await_refusal(workloads, "p") == ""


def test_devices_stay_with_their_pod_when_others_get_none_of_them(memory: Memory, workloads: Workloads) -> None:
    holder(memory)
    memory.put(claim("other", "device-2"))
    memory.put(claim("waits"))
    keep_devices(workloads, held_by(workloads, ["p"]), seconds=-1)


def test_a_device_that_another_claim_gets_is_told(memory: Memory, workloads: Workloads) -> None:
    holder(memory)
    memory.later = [lambda: memory.put(claim("greedy", "device-2", "device-1"))]
    with pytest.raises(CheckFailed, match="claim greedy got device device-1 of pool node"):
        keep_devices(workloads, held_by(workloads, ["p"]), seconds=60)


@pytest.mark.parametrize("gone", [True, False], ids=["claim gone", "claim emptied"])
def test_a_device_is_told_that_is_free_though_nobody_took_it_yet(
    memory: Memory, workloads: Workloads, gone: bool
) -> None:
    holder(memory)
    held = held_by(workloads, ["p"])
    if gone:
        memory.drop("ResourceClaim", "held", SPACE)
    else:
        uid = memory.get("ResourceClaim", "held", SPACE)["metadata"]["uid"]
        emptied = claim("held")
        emptied["metadata"]["uid"] = uid
        memory.put(emptied)
    loss = "device device-1 of pool node, which p had, is allocated no longer"
    with pytest.raises(CheckFailed, match=loss):
        keep_devices(workloads, held, seconds=60)
    with pytest.raises(CheckFailed, match=f"{loss} while p is there still"):
        await_devices_left(workloads, held)


def test_a_claim_of_the_same_name_is_another(memory: Memory, workloads: Workloads) -> None:
    holder(memory)
    held = held_by(workloads, ["p"])
    memory.drop("ResourceClaim", "held", SPACE)
    memory.put(claim("held", "device-1"))
    with pytest.raises(CheckFailed, match="claim held got device device-1"):
        keep_devices(workloads, held, seconds=60)


def test_devices_that_go_to_others_once_their_pod_is_gone_are_free(memory: Memory, workloads: Workloads) -> None:
    holder(memory)

    def freed() -> None:
        memory.drop("Pod", "p", SPACE)
        memory.drop("ResourceClaim", "held", SPACE)
        memory.put(claim("next", "device-1"))

    held = held_by(workloads, ["p"])
    memory.later = [freed]
    await_devices_left(workloads, held)
    assert memory.later == []


def test_a_device_may_go_on_when_its_own_pod_is_gone_though_others_are_not(
    memory: Memory, workloads: Workloads
) -> None:
    holder(memory)
    memory.put(
        {"kind": "Pod", "metadata": {"name": "q", "namespace": SPACE}, "spec": {"resourceClaims": []}, "status": {}}
    )
    held = held_by(workloads, ["p", "q"])

    def freed() -> None:
        memory.drop("Pod", "p", SPACE)
        memory.drop("ResourceClaim", "held", SPACE)
        memory.put(claim("next", "device-1"))

    def over() -> None:
        memory.drop("Pod", "q", SPACE)
        memory.put(claim("next", "device-1"))

    memory.later = [freed, over]
    await_devices_left(workloads, held)
    assert memory.later == []


@pytest.mark.parametrize("stripped", [True, False], ids=["claim gone", "claim emptied"])
def test_a_device_that_is_given_away_before_its_pod_is_gone_is_told(
    memory: Memory, workloads: Workloads, stripped: bool
) -> None:
    holder(memory)

    def robbed() -> None:
        memory.put(claim("greedy", "device-1"))
        memory.drop("ResourceClaim", "held", SPACE)
        if not stripped:
            memory.put(claim("held"))

    held = held_by(workloads, ["p"])
    memory.later = [robbed]
    with pytest.raises(CheckFailed, match="claim greedy got device device-1 of pool node while p is there still"):
        await_devices_left(workloads, held)


def test_slices_are_withdrawn_when_none_is_left(memory: Memory) -> None:
    spec = {"driver": INSTANCE.name, "nodeName": "node-1"}
    memory.put({"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
    memory.put({"kind": "ResourceSlice", "metadata": {"name": "other"}, "spec": {**spec, "driver": "other"}})
    memory.later = [lambda: memory.drop("ResourceSlice", "s")]
    await_withdrawn(Driver(memory, INSTANCE, ["node-1"], {}, Timeouts()))
    assert memory.later == []
