"""How many claims a node can hold at once, and that a check which asks for more is told so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from drivers.manifest import Claim
from fixtures.check.outcomes import OtherOutcome
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.workload.room import Room, Wish, is_plain, room_of
from fixtures.workload.workloads import Workloads

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
TAINT = {"key": "x/broken", "value": "yes", "effect": "NoSchedule"}


def driver(memory: Memory, **claim: Any) -> Driver:
    fake = load("fake")
    asked = Claim.model_validate({"deviceClassName": "{name}", **claim})
    manifest = fake.model_copy(update={"claim": asked})
    instance = Instance(manifest, id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return Driver(memory, instance, ["n"], {}, Timeouts())


def put(memory: Memory, *devices: Object) -> None:
    named = [{"name": f"device-{index}", **device} for index, device in enumerate(devices)]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d-1a2b3c.fake.dra", "nodeName": "n", "pool": pool, "devices": named}
    memory.put({"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})


@pytest.mark.parametrize(
    ("claim", "room"),
    [
        ({}, 3),
        ({"count": 2}, 1),
        ({"allocationMode": "All"}, 1),
        ({"perNode": 9}, 9),
        ({"tolerations": [{"key": "x/broken", "operator": "Exists"}]}, 4),
        ({"tolerations": [{"operator": "Exists"}]}, 4),
        ({"tolerations": [{"key": "x/broken", "value": "no"}]}, 3),
        ({"tolerations": [{"key": "x/broken", "value": "yes", "effect": "NoSchedule"}]}, 4),
    ],
)
def test_untainted_devices_are_those_that_claims_can_have(memory: Memory, claim: Object, room: int) -> None:
    put(memory, {}, {}, {"taints": [{**TAINT, "effect": "None"}]}, {"taints": [TAINT]})
    made = driver(memory, **claim)
    assert room_of(made, made.slices()).by_node == {"n": room}


@pytest.mark.parametrize(
    ("device", "claim", "selector", "plain"),
    [
        ({}, {}, 'device.driver == "d-1a2b3c.fake.dra"', True),
        ({}, {}, "device.driver == 'd-1a2b3c.fake.dra' && device.attributes['x'].fast", False),
        ({"allowMultipleAllocations": True}, {}, "", False),
        ({"consumesCounters": [{}]}, {}, "", False),
        ({"consumesCounters": [{}]}, {"perNode": 2}, "", True),
        ({}, {"selectors": ["true"]}, "", False),
    ],
)
def test_where_slices_do_not_tell_that_is_known(
    memory: Memory, device: Object, claim: Object, selector: str, plain: bool
) -> None:
    put(memory, device)
    selectors = [{"cel": {"expression": selector}}] if selector else []
    metadata = {"name": "d-1a2b3c.fake.dra"}
    memory.put({"kind": "DeviceClass", "metadata": metadata, "spec": {"selectors": selectors}})
    made = driver(memory, **claim)
    assert is_plain(made, made.slices()) is plain


def test_a_pod_lacks_room_while_others_of_the_check_have_it() -> None:
    room = Room({"n": 1, "m": 1})
    room.wishes |= {"first": Wish("n", {"a": 1}), "second": Wish("n", {"b": 1}), "anywhere": Wish(None, {"c": 1})}
    assert room.lacks("second", {"first", "second"}) == "needs 2 claims at once on n, which can hold 1"
    assert room.lacks("second", {"second"}) is None
    assert room.lacks("anywhere", {"first", "anywhere"}) is None
    assert room.lacks("anywhere", {"first", "second", "anywhere"}) is not None
    assert room.lacks("unknown", {"first"}) is None
    assert Room().lacks("first", set()) is None


def test_a_claim_that_pods_share_counts_once_and_one_of_two_requests_twice() -> None:
    room = Room({"n": 1})
    room.wishes |= {"first": Wish("n", {"shared": 1}), "second": Wish("n", {"shared": 1}), "pair": Wish("n", {"p": 2})}
    assert room.lacks("second", {"first", "second"}) is None
    assert room.lacks("pair", {"pair"}) is not None


def test_a_check_that_asks_for_more_than_there_is_cannot_tell(memory: Memory) -> None:
    put(memory, {})
    one = driver(memory)
    made = replace(Workloads(memory, one.instance, one.timeouts), room=room_of(one, one.slices()))
    made.template("single")
    for name in ("first", "second"):
        made.pod(name, templates={"device": "single"}, node="n")
    waiting = memory.get("Pod", "second", one.namespace)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    memory.put({**waiting, "status": {"phase": "Pending", "conditions": [condition]}})
    with pytest.raises(OtherOutcome, match="needs 2 claims at once on n, which can hold 1"):
        made.await_running("second")
