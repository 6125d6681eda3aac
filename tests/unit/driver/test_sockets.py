"""A driver's sockets on a node: gone or hanging for a while, and as they were afterwards."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivers.install import Instance
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.cluster.nodes.shell import DockerShell
from fixtures.driver import sockets as module
from fixtures.driver.disruptions import remove_socket, socket_gone, socket_hangs
from fixtures.driver.driver import Driver
from fixtures.driver.sockets import SocketKind, await_socket, sockets
from fixtures.kube.api import Kube
from fixtures.kube.timeouts import Timeouts

NAME = "d-1a2b3c.fake.dra"
ENGINE = """#!/bin/sh
shift 2
PATH="$(dirname "$0"):$PATH" exec "$@"
"""
# Binds the path of the socket unit, as systemd does, until its name is stopped.
SYSTEMD_RUN = """#!/bin/sh
echo "run $3" >> "$(dirname "$0")/told"
exec python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "${4#*ListenStream=}"
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/told"
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node: its commands and its kubelet's directory, which is the working directory, for paths are limited."""
    for name, text in (("docker", ENGINE), ("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def listeners(root: Path) -> Iterator[dict[str, socket.socket]]:
    """Who listens on the sockets of the driver: one for the service, two for the registration."""
    made = {}
    for path in (
        f"plugins/{NAME}/dra.sock",
        f"plugins_registry/{NAME}-1-reg.sock",
        f"plugins_registry/{NAME}-2-reg.sock",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        made[Path(path).name] = socket.socket(socket.AF_UNIX)
        made[Path(path).name].bind(path)
        made[Path(path).name].listen()
    yield made
    for listener in made.values():
        listener.close()


@pytest.fixture
def driver(root: Path, listeners: dict[str, socket.socket]) -> Driver:  # noqa: ARG001
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    shell = DockerShell("n", root / "docker", kubelet_root=Path())
    return Driver(Kube.__new__(Kube), instance, ["n"], {"n": shell}, Timeouts())


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


KINDS = pytest.mark.parametrize(("kind", "count"), [("service", 1), ("registration", 2)])
WAYS = pytest.mark.parametrize("way", [socket_gone, socket_hangs])


@KINDS
def test_sockets_are_told_apart_by_where_they_lie(driver: Driver, kind: SocketKind, count: int) -> None:
    assert len(sockets(driver, "n", kind)) == count


@KINDS
def test_removed_sockets_are_gone_until_that_is_undone(driver: Driver, kind: SocketKind, count: int) -> None:
    paths = sockets(driver, "n", kind)
    remove_socket(driver, "n", kind)
    assert sockets(driver, "n", kind) == []
    with pytest.raises(CheckFailed, match="there is none"):
        remove_socket(driver, "n", kind)
    assert driver.undo.undo(driver.kube, driver.shells) == []
    assert [answers(path) for path in paths] == [True] * count


@KINDS
def test_a_socket_that_the_driver_made_anew_stays_when_the_removal_is_undone(
    driver: Driver, kind: SocketKind, count: int
) -> None:
    paths = sockets(driver, "n", kind)
    remove_socket(driver, "n", kind)
    for path in paths:
        path.touch()
    assert driver.undo.undo(driver.kube, driver.shells) == []
    assert [path.is_socket() for path in paths] == [False] * count
    assert not list(paths[0].parent.glob(".*"))


@KINDS
def test_sockets_that_were_gone_come_back_and_answer(driver: Driver, kind: SocketKind, count: int) -> None:
    paths = sockets(driver, "n", kind)
    with socket_gone(driver, "n", kind):
        assert not any(path.exists() for path in paths)
    assert [answers(path) for path in paths] == [True] * count
    assert sockets(driver, "n", kind) == paths


@KINDS
def test_sockets_that_hung_are_the_driver_s_again(driver: Driver, root: Path, kind: SocketKind, count: int) -> None:
    paths = sockets(driver, "n", kind)
    with socket_hangs(driver, "n", kind):
        assert all(path.is_socket() for path in paths)
        assert not any(answers(path) for path in paths)
    assert [answers(path) for path in paths] == [True] * count
    assert sockets(driver, "n", kind) == paths
    told = (root / "told").read_text().split("\n")[:-1]
    units = [f"dra-hangs-1a2b3c-{kind}-{number}" for number in range(count)]
    assert sorted(told) == sorted([f"run {unit}" for unit in units] + [f"stop {unit}.*" for unit in units])


@WAYS
def test_a_new_socket_of_a_restarted_driver_stays(driver: Driver, way: object) -> None:
    [path] = sockets(driver, "n", "service")
    with socket.socket(socket.AF_UNIX) as fresh:
        with way(driver, "n", "service"):  # type: ignore[operator]
            fresh.bind("fresh")
            number = Path("fresh").stat().st_ino
            Path("fresh").rename(path)
        assert path.stat().st_ino == number
    assert sockets(driver, "n", "service") == [path]


@WAYS
def test_the_picture_has_both_moments(driver: Driver, way: object) -> None:
    with way(driver, "n", "registration"):  # type: ignore[operator]
        assert len(driver.disturbances) == 1
    assert len(driver.disturbances) == 2


def test_a_socket_is_waited_for(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK", 0.01)
    await_socket(driver, "n", "service", within=5)
    remove_socket(driver, "n", "service")
    with pytest.raises(CheckFailed, match="a service socket"):
        await_socket(driver, "n", "service", within=0.05)
