"""What a new session does with the clusters that it finds."""

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.cluster import host
from fixtures.cluster.kind import sweep
from fixtures.cluster.kind.records import Make, Owner, Record, clusters_directory, read_record

MAKE = Make(topology="standard", kubernetes="1.37.2", recipe="abc")
DEAD = Owner(pid=1, started=-1, boot=host.boot_id(), pid_namespace=host.pid_namespace())
DOCKER = Path("/usr/bin/docker")


class World:
    """What docker has, and what was deleted."""

    def __init__(self) -> None:
        self.clusters: set[str] = set()
        self.networks: dict[str, tuple[Owner | None, Path]] = {}
        self.deleted: list[str] = []
        self.said: list[str] = []
        self.healthy = True

    def record(self, number: int, owner: Owner = DEAD, *, kept: bool = False) -> Record:
        name = f"dra-standard-{number:06x}"
        record = Record(name, clusters_directory() / name, MAKE, owner, DOCKER, kept)
        record.write()
        self.networks[name] = (owner, record.directory)
        return record

    def sweep(self) -> Record | None:
        return sweep.sweep(DOCKER, MAKE, Owner.current(), lambda _: self.healthy, self.said.append)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    made = World()

    class FakeDocker:
        def __init__(self, client: Path):
            assert client == DOCKER

        def networks(self) -> dict[str, tuple[Owner | None, Path]]:
            return made.networks

        def cluster_names(self) -> set[str]:
            return made.clusters

    class FakeLife:
        def __init__(self, record: Record):
            self._record = record

        def delete(self) -> list[str]:
            made.deleted.append(self._record.name)
            return []

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sweep, "DockerObjects", FakeDocker)
    monkeypatch.setattr(sweep, "KindLife", FakeLife)
    return made


def test_dead_sessions_are_swept_and_living_ones_left(world: World) -> None:
    dead = world.record(1)
    world.record(2, Owner.current())
    assert world.sweep() is None
    assert world.deleted == [dead.name]


def test_healthy_kept_cluster_changes_hands(world: World) -> None:
    kept = world.record(1, kept=True)
    assert world.sweep() == replace(kept, owner=Owner.current(), kept=False)
    assert read_record(kept.directory) == replace(kept, owner=Owner.current(), kept=False)
    assert world.deleted == []


def test_only_one_kept_cluster_is_needed(world: World) -> None:
    first, second = world.record(1, kept=True), world.record(2, kept=True)
    adopted = world.sweep()
    assert adopted is not None
    assert adopted.name == first.name
    assert world.deleted == [second.name]


def test_kept_cluster_whose_api_is_gone_is_deleted(world: World) -> None:
    kept = world.record(1, kept=True)
    world.healthy = False
    assert world.sweep() is None
    assert world.deleted == [kept.name]


def test_containers_without_any_record_are_swept_by_name(world: World) -> None:
    world.clusters = {"dra-standard-0000ff", "kind", "dra-mine", "somebody-elses"}
    assert world.sweep() is None
    assert world.deleted == ["dra-standard-0000ff"]


def test_network_without_record_tells_whether_its_owner_lives(world: World, tmp_path: Path) -> None:
    world.networks = {
        "dra-standard-0000aa": (Owner.current(), tmp_path / "gone"),
        "dra-standard-0000bb": (DEAD, tmp_path / "gone"),
        "dra-standard-0000cc": (None, tmp_path / "gone"),
    }
    world.sweep()
    assert world.deleted == ["dra-standard-0000bb", "dra-standard-0000cc"]


def test_record_of_another_users_cache_counts(world: World, tmp_path: Path) -> None:
    living = replace(world.record(1, Owner.current()), directory=tmp_path / "elsewhere" / "dra-standard-000001")
    living.write()
    world.networks = {living.name: (DEAD, living.directory)}
    world.sweep()
    assert world.deleted == []
