"""One run at a time: whoever comes second is told who is there; who died is followed."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import RUN_LABEL
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.existing import run_lease
from fixtures.cluster.existing.run_lease import NAME, NAMESPACE, RunLease

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]


def moment(seconds_ago: float) -> str:
    return (datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds_ago)).isoformat()


def lease(holder: str, renewed: float | None, by: str = "ann@laptop") -> Object:
    metadata = {"name": NAME, "namespace": NAMESPACE, "annotations": {"dra-conformance/started-by": by}}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 60, "acquireTime": "2026-11-30T12:00:00.000000Z"}
    return {"kind": "Lease", "metadata": metadata, "spec": spec | ({"renewTime": moment(renewed)} if renewed else {})}


def namespace(run: str | None) -> Object:
    return {"kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {RUN_LABEL: run} if run else {}}}


class World:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.lost: list[str] = []
        self.told = threading.Event()
        self._stack = ExitStack()

    def lock(self, run: str) -> RunLease:
        return RunLease(self.memory, run, self._note)

    def taken(self, run: str) -> RunLease:
        made = self.lock(run)
        made.take()
        self._stack.callback(made._over.set)
        return made

    def _note(self, why: str) -> None:
        self.lost.append(why)
        self.told.set()

    @property
    def holder(self) -> str | None:
        found = self.memory.objects.get(("Lease", NAMESPACE, NAME))
        return found["spec"]["holderIdentity"] if found else None


@pytest.fixture
def world(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(run_lease, "DURATION", 0.2)  # as long as a Lease is watched that looks dead
    made = World(memory)
    with made._stack:
        yield made


def test_the_first_run_holds_the_cluster_and_leaves_nothing(world: World) -> None:
    lock = world.taken("r1")
    assert world.holder == "r1"
    assert world.memory.get("Namespace", NAMESPACE)["metadata"]["labels"][RUN_LABEL] == "r1"
    assert world.memory.get("Lease", NAME, NAMESPACE)["metadata"]["labels"] == {RUN_LABEL: "r1"}
    lock.release()
    assert world.memory.objects == {}
    assert world.lost == []


def test_a_second_run_is_told_who_is_there_and_since_when(world: World) -> None:
    world.memory.put(namespace("r1"))
    world.memory.put(lease("r1", renewed=20))
    with pytest.raises(ClusterError) as caught:
        world.lock("r2").take()
    assert "Another run holds this cluster: r1, started by ann@laptop, since 2026-11-30T12:00:00" in str(caught.value)
    assert "Wait until it has ended" in caught.value.remedy
    assert world.holder == "r1"


@pytest.mark.parametrize("renewed", [61, 6000, None])
def test_a_run_that_died_is_followed(world: World, renewed: float | None) -> None:
    world.memory.put(namespace("r1"))
    world.memory.put(lease("r1", renewed=renewed))
    world.memory.later = [lambda: threading.Event().wait(0.15)]
    lock = world.taken("r2")
    assert world.holder == "r2"
    lock.release()
    assert world.memory.objects == {}, "what the dead run made for the lock is removed, too"


def test_a_run_whose_clock_is_behind_is_seen_renewing(world: World) -> None:
    world.memory.put(namespace("r1"))
    world.memory.put(lease("r1", renewed=600))
    world.memory.later = [lambda: world.memory.put(lease("r1", renewed=585))]
    with pytest.raises(ClusterError, match="Another run holds this cluster: r1"):
        world.lock("r2").take()


@pytest.mark.parametrize("holder", ["", None])
def test_a_lease_of_nobody_is_free(world: World, holder: str | None) -> None:
    world.memory.put(namespace("r1"))
    world.memory.put(lease("", renewed=1) | {"spec": {"holderIdentity": holder}})
    world.taken("r2")
    assert world.holder == "r2"


def test_a_namespace_that_somebody_made_for_us_stays(world: World) -> None:
    world.memory.put(namespace(None))
    world.taken("r1").release()
    assert [kind for kind, _, _ in world.memory.objects] == ["Namespace"]


def test_a_namespace_on_its_way_out_is_waited_for(world: World) -> None:
    leaving = namespace("r1")
    leaving["metadata"]["deletionTimestamp"] = "2026"
    world.memory.put(leaving)
    world.memory.later = [lambda: world.memory.drop("Namespace", NAMESPACE)]
    world.taken("r2")
    assert world.memory.get("Namespace", NAMESPACE)["metadata"]["labels"][RUN_LABEL] == "r2"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lease, "PERIOD", 0.01)


@pytest.mark.usefixtures("quick")
def test_a_lease_is_renewed_all_the_time(world: World) -> None:
    world.taken("r1")
    seen = world.memory.get("Lease", NAME, NAMESPACE)["spec"]["renewTime"]
    renewed = threading.Event()
    world.memory.reacts = lambda: renewed.set() if seen != world.memory.objects["Lease", NAMESPACE, NAME] else None
    assert renewed.wait(10)
    assert world.lost == []


@pytest.mark.usefixtures("quick")
def test_an_api_server_that_is_away_for_a_while_costs_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, failures, renewed = world.memory.patch, iter(range(3)), threading.Event()

    def failing(*words: Any, **more: Any) -> Object:
        if next(failures, None) is not None:
            raise world.memory.problem(503)
        renewed.set()
        return patch(*words, **more)

    monkeypatch.setattr(world.memory, "patch", failing)
    world.taken("r1")
    assert renewed.wait(10)
    assert world.lost == []


@pytest.mark.usefixtures("quick")
def test_a_hold_that_is_lost_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = world.taken("r1")
    monkeypatch.setattr(
        world.memory, "patch", lambda *_, **__: lease("r2", renewed=1) | {"metadata": {"resourceVersion": "9"}}
    )
    world.memory.put(lease("r2", renewed=1))
    assert world.told.wait(10)
    assert world.lost == ["the run lost its hold on the cluster to r2"]
    monkeypatch.undo()
    lock.release()
    assert world.holder == "r2", "it is not ours to delete"


@pytest.mark.usefixtures("quick")
def test_a_hold_is_lost_with_its_lease(world: World) -> None:
    world.taken("r1")
    world.memory.drop("Lease", NAME, NAMESPACE)
    assert world.told.wait(10)
    assert world.lost == ["the run lost its hold on the cluster to somebody who deleted its Lease"]
