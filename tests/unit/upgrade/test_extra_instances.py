"""Further instances of a driver: names of their own, the same place, installed and removed with their namespaces."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.driver.driver import Driver
from fixtures.kube.timeouts import Timeouts
from fixtures.upgrade.extra_instances import extra_instances_of

if TYPE_CHECKING:
    from tests.unit.conftest import Memory


@pytest.fixture
def driver(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Driver:
    def up(self: Driver) -> None:
        memory.done.append(f"{self.name} is up")

    monkeypatch.setattr(Driver, "await_up", up)
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={"room": "common"})
    made = Driver(memory, instance, ["node-1"], {}, Timeouts())
    made.mark("something")
    return made


def test_siblings_are_other_instances_in_the_same_place(driver: Driver, memory: Memory) -> None:
    with extra_instances_of(driver) as extra_instances:
        made = extra_instances.install(3)
        assert len({d.name for d in (driver, *made)}) == 4
        for extra in made:
            assert extra.instance.node_selector == {"room": "common"}
            assert (extra.nodes, extra.disturbances) == (["node-1"], [])
            assert f"{extra.name} is up" in memory.done
            assert memory.get("Namespace", extra.namespace)["metadata"]["labels"]["dra-conformance/run"] == "run-1"
    assert memory.objects == {}, "all are removed, with their namespaces"
    assert driver.disturbances[0].what == "something"


def test_a_sibling_that_does_not_come_up_is_removed_with_the_others(
    driver: Driver, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_: Driver) -> None:
        raise RuntimeError("down")

    monkeypatch.setattr(Driver, "await_up", down)
    with pytest.raises(RuntimeError), extra_instances_of(driver) as extra_instances:
        extra_instances.install(2)
    assert memory.objects == {}


def test_a_driver_whose_name_is_fixed_has_none(driver: Driver, memory: Memory) -> None:
    manifest = driver.instance.manifest
    there = manifest.model_copy(update={"name": "gpu.example.com"})
    driver.instance = dataclasses.replace(driver.instance, manifest=there)
    with extra_instances_of(driver) as extra_instances:
        assert extra_instances.install(2) == []
    assert memory.done == []
