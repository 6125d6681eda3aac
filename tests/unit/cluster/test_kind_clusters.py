"""The clusters of a session: made once, remembered when they fail, gone at its end."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.cluster.errors import ClusterError
from fixtures.cluster.handle import ClusterHandle, Node
from fixtures.cluster.kind import clusters
from fixtures.cluster.kind.clusters import KindClusters
from fixtures.cluster.kind.records import Make, Owner, Record, read_record
from fixtures.cluster.kind.topology import ClusterSettings, Topology

HANDLE = ClusterHandle(
    topology="standard",
    name="dra-standard-000001",
    kubeconfig=Path("/c/kubeconfig"),
    kubernetes="1.37.2",
    nodes=(
        Node("a", "control-plane", "172.18.0.2"),
        Node("b", "worker", "172.18.0.3"),
        Node("c", "spare", "172.18.0.4"),
    ),
    capabilities=frozenset({"node-shell", "node-restart"}),
    kubectl=Path("/c/kubectl"),
    docker=Path("/usr/bin/docker"),
    state=Path("/c/state"),
)


class World:
    """A provider that makes clusters of paper."""

    def __init__(self, tmp_path: Path):
        self.directory = tmp_path / "session"
        self.tmp_path = tmp_path
        self.made = 0
        self.deleted: list[str] = []
        self.left: list[str] = []
        self.said: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None

    @property
    def record(self) -> Record:
        return self.record_of("standard")

    def record_of(self, topology: str) -> Record:
        name = HANDLE.name.replace("standard", topology)
        return Record(name, self.tmp_path / name, Make(topology, "1.37.2", "abc"), Owner.current(), Path("docker"))

    def topologies(self) -> KindClusters:
        return KindClusters(self.directory, ClusterSettings("1.37.2", "auto"), self.said.append)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    made = World(tmp_path)

    class FakeProvider:
        def __init__(self, settings: ClusterSettings, owner: Owner, _: Callable[[str], None]):
            assert (settings.kubernetes, owner) == ("1.37.2", Owner.current())

        def make(self, shape: Topology, note: Callable[[Record], None]) -> ClusterHandle:
            record = made.record_of(shape.name)
            record.write()
            note(record)
            made.made += 1
            made.meanwhile()
            return replace(HANDLE, topology=shape.name, name=record.name)

    class FakeLife:
        wrapper = Path("/c/kind")

        def __init__(self, record: Record):
            self._name = record.name

        def delete(self) -> list[str]:
            made.deleted.append(self._name)
            return made.left

    monkeypatch.setattr(clusters, "KindMaker", FakeProvider)
    monkeypatch.setattr(clusters, "KindLife", FakeLife)
    return made


def test_handle_survives_as_text() -> None:
    assert ClusterHandle.from_json(HANDLE.to_json()) == HANDLE
    assert [node.name for node in HANDLE.workers] == ["b"]
    assert [node.name for node in HANDLE.spares] == ["c"]


def test_first_caller_makes_and_all_share(world: World) -> None:
    handles: list[ClusterHandle] = []
    callers = [threading.Thread(target=lambda: handles.append(world.topologies().ensure("standard"))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(10)
    assert handles == [HANDLE] * 4
    assert world.made == 1


def test_failure_is_remembered(world: World) -> None:
    def fail() -> None:
        raise ClusterError("no disk", "buy one")

    world.meanwhile = fail
    for _ in range(2):
        with pytest.raises(ClusterError) as caught:
            world.topologies().ensure("standard")
        assert (caught.value.problem, caught.value.remedy) == ("no disk", "buy one")
    assert world.made == 1


def test_process_that_died_while_making_is_no_obstacle(world: World) -> None:
    def die() -> None:
        raise KeyboardInterrupt

    world.meanwhile = die
    with pytest.raises(KeyboardInterrupt):
        world.topologies().ensure("standard")
    world.meanwhile = lambda: None
    assert world.topologies().ensure("standard") == HANDLE
    assert (world.made, world.deleted) == (2, [HANDLE.name])


def test_unknown_topology_names_the_known_ones(world: World) -> None:
    with pytest.raises(ClusterError, match="moon") as caught:
        world.topologies().ensure("moon")
    assert "standard" in caught.value.remedy


def test_close_deletes_and_reports_what_is_left(world: World) -> None:
    session = world.topologies()
    session.ensure("standard")
    world.left = ["network dra-standard-000001"]
    assert session.close(keep=False) == ["network dra-standard-000001"]
    assert world.deleted == [HANDLE.name]


def test_close_ends_the_clusters_of_every_topology(world: World) -> None:
    session = world.topologies()
    assert {session.ensure(name).topology for name in ("standard", "skew")} == {"standard", "skew"}
    assert session.close(keep=False) == []
    assert sorted(world.deleted) == ["dra-skew-000001", "dra-standard-000001"]


def test_close_without_any_cluster_has_nothing_to_do(world: World) -> None:
    assert world.topologies().close(keep=False) == []
    assert world.deleted == []


def test_kept_cluster_stays_and_its_use_is_told(world: World) -> None:
    session = world.topologies()
    session.ensure("standard")
    assert session.close(keep=True) == []
    record = read_record(world.record.directory)
    assert record is not None
    assert record.kept
    assert world.deleted == []
    assert "/c/kubectl --kubeconfig /c/kubeconfig get pods" in world.said[-1]
    assert "delete cluster --name dra-standard-000001" in world.said[-1]


def test_half_made_cluster_is_deleted_even_when_clusters_are_kept(world: World) -> None:
    session = world.topologies()
    world.meanwhile = lambda: world.left.extend(session.close(keep=True))
    session.ensure("standard")
    assert world.deleted == [HANDLE.name]


def test_nothing_is_made_once_the_session_ends(world: World) -> None:
    world.topologies().close(keep=False)
    with pytest.raises(ClusterError, match="session is ending"):
        world.topologies().ensure("standard")
    assert world.made == 0


def test_close_while_a_cluster_is_about_to_be_made_stops_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    session = world.topologies()
    write = Record.write

    def write_then_close(record: Record) -> None:
        write(record)
        session.close(keep=False)

    monkeypatch.setattr(Record, "write", write_then_close)
    with pytest.raises(ClusterError, match="session is ending"):
        session.ensure("standard")
    assert world.made == 0


def test_owner_is_the_first_process_until_it_dies(tmp_path: Path) -> None:
    assert clusters._owner_of(tmp_path) == Owner.current()
    (tmp_path / "session.owner").write_text('{"pid": 1, "started": -1, "boot": "another", "pid_namespace": "pid:[1]"}')
    assert clusters._owner_of(tmp_path) == Owner.current()
