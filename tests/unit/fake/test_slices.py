from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from drivers.fake.devices import Device
from drivers.fake.pool import Pool, pool_changes, split

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node

OWNERS = [{"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "node-uid", "controller": True}]
TAINT = {"key": "broken", "effect": "NoSchedule"}


def _devices(count: int, tainted: bool = False) -> list[Device]:
    taints = ({"key": "broken", "effect": "NoSchedule"},) if tainted else ()
    return [Device(f"device-{index}", index, f"uuid-{index}", taints, "Healthy", "") for index in range(count)]


def _pool(count: int, size: int = 2) -> Pool:
    specs = [device.spec() for device in _devices(count)]
    parts = tuple(tuple(specs[start : start + size]) for start in range(0, max(count, 1), size))
    return Pool("pool", "driver", "node-1", parts, len(parts))


def _published(pool: Pool, generation: int) -> list[dict[str, Any]]:
    return [pool.body(index, generation, OWNERS) for index in range(len(pool.parts))]


@pytest.mark.parametrize(
    ("count", "tainted", "sizes"),
    [(0, False, [0]), (4, False, [4]), (128, False, [128]), (300, False, [128, 128, 44]), (100, True, [64, 36])],
)
def test_devices_are_split_at_the_limits_of_a_slice(count: int, tainted: bool, sizes: list[int]) -> None:
    assert [len(part) for part in split(_devices(count, tainted))] == sizes


def test_a_new_pool_starts_with_generation_1() -> None:
    changes = pool_changes([], _pool(3), OWNERS, 0)
    assert (changes.generation, len(changes.creates), changes.updates, changes.deletes) == (1, 2, (), ())
    assert {item["spec"]["pool"]["generation"] for item in changes.creates} == {1}


def test_a_pool_that_is_as_wanted_needs_nothing() -> None:
    assert pool_changes(_published(_pool(4), 7), _pool(4), OWNERS, 0).empty


def test_one_changed_slice_keeps_the_generation() -> None:
    published = _published(_pool(4), 7)
    published[1]["spec"]["devices"] = []
    changes = pool_changes(published, _pool(4), OWNERS, 0)
    assert (changes.generation, len(changes.updates), changes.creates) == (7, 1, ())


def test_two_changed_slices_raise_the_generation_of_all() -> None:
    published = _published(_pool(6), 7)
    for item in published[:2]:
        item["spec"]["devices"] = []
    changes = pool_changes(published, _pool(6), OWNERS, 0)
    assert (changes.generation, len(changes.updates)) == (8, 3)


def test_a_missing_slice_raises_the_generation_of_all() -> None:
    changes = pool_changes(_published(_pool(6), 7)[1:], _pool(6), OWNERS, 0)
    assert (changes.generation, len(changes.updates), len(changes.creates)) == (8, 2, 1)


def test_a_pool_that_was_wiped_does_not_go_back_in_generation() -> None:
    assert pool_changes([], _pool(2), OWNERS, 7).generation == 8


def test_what_is_not_wanted_any_more_goes() -> None:
    published = _published(_pool(4), 7)
    changes = pool_changes(published, _pool(2), OWNERS, 0)
    assert changes.deletes == (published[1]["metadata"]["name"],)
    assert [item["spec"]["pool"]["resourceSliceCount"] for item in changes.updates] == [1]


def test_a_taint_keeps_the_time_that_the_api_server_gave_it() -> None:
    pool = Pool("pool", "driver", "node-1", split(_devices(1, tainted=True)), 1)
    published = json.loads(json.dumps(_published(pool, 1)))
    published[0]["spec"]["devices"][0]["taints"][0]["timeAdded"] = "2026-01-01T00:00:00Z"
    assert pool_changes(published, pool, OWNERS, 0).empty
    published[0]["metadata"]["ownerReferences"] = []
    (update,) = pool_changes(published, pool, OWNERS, 0).updates
    assert update["spec"]["devices"][0]["taints"][0]["timeAdded"] == "2026-01-01T00:00:00Z"


def test_object_names_fit_whatever_the_node_is_called() -> None:
    pool = Pool("pool", "d" * 63, ".".join(["n" * 49] * 5), ((), ()), 2)
    names = [pool.slice_name(0), pool.slice_name(1)]
    assert len(set(names)) == 2
    assert all(len(name) <= 253 and ".-" not in name for name in names)


def test_the_node_owns_its_slices(node: Node) -> None:
    node.start(labels={"run": "1"})
    (spec,) = node.pool()
    assert spec["nodeName"] == node.name
    assert spec["pool"] == {"name": node.name, "generation": 1, "resourceSliceCount": 1}
    assert [device["name"] for device in spec["devices"]] == [f"device-{index}" for index in range(4)]
    (item,) = node.api.slices.values()
    assert item["metadata"]["ownerReferences"] == OWNERS
    assert item["metadata"]["labels"] == {"run": "1"}


def test_300_devices_fill_three_slices_of_one_generation(node: Node) -> None:
    node.start(devices=300)
    specs = node.pool(slices=3)
    assert [len(spec["devices"]) for spec in specs] == [128, 128, 44]
    assert {json.dumps(spec["pool"]) for spec in specs} == {json.dumps(specs[0]["pool"])}
    uuids = [device["attributes"]["uuid"]["string"] for spec in specs for device in spec["devices"]]
    assert len(set(uuids)) == 300


def test_a_deleted_slice_comes_back(node: Node) -> None:
    node.start()
    node.pool()
    (name,) = node.api.slices
    node.api.delete_slice(name)
    node.until(lambda: node.api.slices)
    assert node.pool()[0]["pool"]["generation"] == 2


def test_all_slices_wiped_come_back_once(node: Node) -> None:
    node.start(devices=300)
    node.pool(slices=3)
    for name in list(node.api.slices):
        node.api.delete_slice(name)
    assert {spec["pool"]["generation"] for spec in node.pool(slices=3)} == {2}


@pytest.mark.parametrize("part", ["spec", "metadata"])
def test_an_altered_slice_is_repaired(node: Node, part: str) -> None:
    node.start()
    wanted = node.pool()
    (name,) = node.api.slices

    def spoil(item: dict[str, Any]) -> None:
        if part == "spec":
            item["spec"]["devices"].pop()
        else:
            del item["metadata"]["ownerReferences"]

    node.api.change_slice(name, spoil)
    node.until(lambda: ("update", name) in node.api.writes)
    assert node.pool() == wanted
    assert node.api.slices[name]["metadata"]["ownerReferences"] == OWNERS


def test_an_instance_that_finds_its_slices_writes_nothing(node: Node) -> None:
    old = node.start(version="1.0.0", devices=300)
    node.pool(slices=3)
    node.api.writes.clear()
    new = node.start(version="2.0.0", devices=300)
    node.until(lambda: "workqueue_work_duration_seconds_count" in new.http("/metrics")[1])
    old.end()
    new.end()
    assert node.api.writes == []
    assert len(node.api.slices) == 3


def test_two_instances_repair_a_wipe_together(node: Node) -> None:
    for version in ("1.0.0", "2.0.0"):
        node.start(version=version)
    node.pool()
    for generation in itertools.count(2):
        if generation == 5:
            break
        (name,) = node.api.slices
        node.api.delete_slice(name)
        node.until(lambda: node.api.slices)
        assert node.pool()[0]["pool"]["generation"] == generation


def test_devices_that_come_and_go_are_published_by_every_instance(node: Node) -> None:
    one, two = node.start(), node.start()
    node.pool()
    one.http("/devices", {"count": 6, "taints": {"device-5": [TAINT]}})
    node.until(lambda: len(node.pool()[0]["devices"]) == 6)
    assert node.pool()[0]["devices"][5]["taints"] == [TAINT]
    assert node.pool()[0]["pool"]["generation"] == 1
    two.http("/devices", {"count": 0})
    node.until(lambda: node.pool()[0]["devices"] == [])
    assert json.loads(one.http("/devices")[1])["count"] == 0


def test_a_driver_without_api_server_publishes_when_it_comes(node: Node) -> None:
    node.api.nodes.clear()
    driver = node.start()
    assert driver.health() == "SERVING"
    node.until(lambda: "workqueue_retries_total{" in driver.http("/metrics")[1])
    node.api.nodes[node.name] = {"metadata": {"name": node.name, "uid": "node-uid"}}
    node.pool()


PARTITIONED: dict[str, Any] = {
    "devices": 3,
    "device_specs": (
        {"name": "gpu", "attributes": {"type": {"string": "gpu"}}, "consumesCounters": [{"counterSet": "gpu"}]},
        {"name": "part", "capacity": {"memory": {"value": "5Gi"}}, "taints": [TAINT]},
    ),
    "shared_counters": ({"name": "gpu", "counters": {"memory": {"value": "40Gi"}}},),
}


def test_devices_are_as_described_and_further_ones_are_plain(node: Node) -> None:
    driver = node.start(**PARTITIONED)
    gpu, part, plain = node.pool(slices=2)[0]["devices"]
    assert [device["name"] for device in (gpu, part, plain)] == ["gpu", "part", "device-2"]
    assert gpu["attributes"].keys() == plain["attributes"].keys() | {"type"}
    assert gpu["consumesCounters"] == [{"counterSet": "gpu"}]
    assert (part["capacity"], part["taints"]) == ({"memory": {"value": "5Gi"}}, [TAINT])
    claim = node.claim("part")
    assert driver.prepare(claim)[claim.uid].devices[0].device_name == "part"


def test_a_taint_joins_those_that_a_device_always_has(node: Node) -> None:
    driver = node.start(**PARTITIONED)
    more = {"key": "worn", "effect": "NoExecute"}
    driver.http("/devices", {"count": 2, "taints": {"part": [more]}})
    node.until(lambda: len(node.pool(slices=2)[0]["devices"]) == 2)
    assert node.pool(slices=2)[0]["devices"][1]["taints"] == [TAINT, more]


def test_counter_sets_have_a_slice_of_their_own_that_counts(node: Node) -> None:
    node.start(**PARTITIONED)
    devices, counters = node.pool(slices=2)
    assert counters["sharedCounters"] == list(PARTITIONED["shared_counters"])
    assert "devices" not in counters
    assert "sharedCounters" not in devices
    assert devices["pool"] == counters["pool"]
    assert devices["pool"]["resourceSliceCount"] == 2


def test_slices_with_counters_that_are_as_wanted_need_nothing() -> None:
    pool = Pool("pool", "driver", "node-1", split(_devices(1)), 2, shared_counters=PARTITIONED["shared_counters"])
    published = [pool.body(index, 1, OWNERS) for index in range(2)]
    assert pool_changes(published, pool, OWNERS, 0).empty
    published[1]["spec"]["sharedCounters"] = []
    changed = pool_changes(published, pool, OWNERS, 0).updates
    assert [item["spec"] for item in changed] == [pool.spec(1, 1)]


def test_devices_that_consume_counters_are_split_as_those_with_taints() -> None:
    consumes = {"consumesCounters": [{"counterSet": "gpu"}]}
    devices = [Device(f"device-{index}", index, "", (), "Healthy", "", consumes) for index in range(100)]
    assert [len(part) for part in split(devices)] == [64, 36]
