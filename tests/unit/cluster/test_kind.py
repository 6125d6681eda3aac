"""Making and deleting one kind cluster, with stand-ins for kind and docker."""

import os
import threading
import time
from pathlib import Path

import pytest

from fixtures.cluster import host
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.kind.life import KindLife
from fixtures.cluster.kind.records import Make, Owner, Record

DOCKER = """\
#!/bin/sh
# Containers and networks are files in $STATE.
case "$1 $2" in
"network create") for last; do :; done; touch $STATE/network-$last ;;
"network rm") rm -f $STATE/network-$3 ;;
"network ls") cd $STATE; for file in network-*; do [ -e $file ] && echo ${file#network-}; done ;;
ps*) cd $STATE; for file in container-*; do [ -e $file ] && echo ${file#container-}; done ;;
rm*) shift 3; for name; do [ -e $STATE/stubborn ] || rm -f $STATE/container-$name; done ;;
esac
true
"""

KIND = """\
#!/bin/sh
echo "$KIND_EXPERIMENTAL_DOCKER_NETWORK $*" >> $STATE/kind-calls
case "$1 $2" in
"get clusters") echo "No kind clusters found." >&2 ;;
"create cluster")
    echo "Creating the cluster"
    touch $STATE/container-node
    [ ! -e $STATE/slow ] || { touch $STATE/creating; sleep 600; }
    [ ! -e $STATE/broken ] || { echo "ERROR: failed to create cluster: no memory" >&2; exit 1; }
    ;;
"delete cluster") rm -f $STATE/container-node ;;
esac
"""

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
"""


class World:
    def __init__(self, tmp_path: Path):
        self.state = tmp_path / "state"
        self.state.mkdir()
        self.kind, docker = tmp_path / "kind", tmp_path / "docker"
        for program, text in ((self.kind, KIND), (docker, DOCKER)):
            program.write_text(text)
            program.chmod(0o755)
        name = "dra-standard-000001"
        self.record = Record(name, tmp_path / name, Make("standard", "1.37.2", "abc"), Owner.current(), docker)
        self.record.write()
        (self.record.directory / "kubeconfig").write_text(KUBECONFIG)
        self.life = KindLife(self.record)

    def create(self) -> None:
        self.life.create(self.kind, Path("/kubectl"), self.record.docker.parent, "kind: Cluster\n")

    def flag(self, name: str) -> None:
        (self.state / name).touch()

    @property
    def existing(self) -> list[str]:
        return sorted(file.name for file in self.state.glob("*-*") if file.name != "kind-calls")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setenv("STATE", str(made.state))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return made


def test_cluster_comes_and_goes_without_a_trace(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.create()
    assert world.existing == ["container-node", "network-dra-standard-000001"]
    assert world.life.delete() == []
    assert world.existing == []
    assert not world.record.directory.exists()
    assert list(Path.cwd().iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_kind_works_in_the_network_of_the_cluster(world: World) -> None:
    world.create()
    calls = (world.state / "kind-calls").read_text().splitlines()
    assert calls[0] == "dra-standard-000001 get clusters"
    assert calls[1].startswith("dra-standard-000001 create cluster --name=dra-standard-000001 --kubeconfig=")
    assert "--image" not in calls[1], "it would be every node's, whatever the configuration says"


def test_failure_tells_the_end_of_the_output(world: World) -> None:
    world.flag("broken")
    with pytest.raises(ClusterError) as caught:
        world.create()
    assert "exit code 1" in caught.value.problem
    assert caught.value.problem.endswith("Creating the cluster\nERROR: failed to create cluster: no memory")
    assert world.life.delete() == []
    assert world.existing == []


def test_cluster_is_deleted_while_it_is_created(world: World) -> None:
    world.flag("slow")
    failure: list[ClusterError] = []

    def create() -> None:
        try:
            world.create()
        except ClusterError as error:
            failure.append(error)

    thread = threading.Thread(target=create)
    thread.start()
    deadline = time.monotonic() + 10
    while not (world.state / "creating").exists():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)
    pid = int((world.record.directory / "kind.pid").read_text())
    # By another process of the session, which knows no more than the record.
    assert KindLife(world.record).delete() == []
    thread.join(10)
    assert host.process_start(pid) is None
    assert world.existing == []
    assert len(failure) == 1


def test_number_of_an_ended_kind_may_be_somebody_elses(world: World) -> None:
    world.create()
    (world.record.directory / "kind.pid").write_text(str(os.getpid()))
    assert world.life.delete() == []


def test_what_cannot_be_deleted_is_told_and_stays_on_record(world: World) -> None:
    world.create()
    world.flag("container-another")
    world.flag("stubborn")
    assert world.life.delete() == ["container another"]
    assert world.record.directory.exists()


def test_dead_docker_is_told(world: World) -> None:
    world.create()
    world.record.docker.unlink()
    (left,) = world.life.delete()
    assert "docker does not answer" in left
