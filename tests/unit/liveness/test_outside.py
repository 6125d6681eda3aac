"""A driver as a service of a node: what is put there, how systemd watches it, and that nothing of it stays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance
from drivers.loading import load
from drivers.saboteurs import REGISTRY
from fixtures.check.outcomes import CheckFailed
from fixtures.cluster.nodes.shell import DockerShell
from fixtures.driver import pools
from fixtures.kube.timeouts import Timeouts
from fixtures.liveness import service
from fixtures.liveness.service import OutsideDriver, Supervision

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-1a2b3c"
UNIT = "driver-1a2b3c.service"
ENGINE = """#!/bin/sh
shift 2
PATH="$(dirname "$0"):$PATH" exec "$@"
"""
SYSTEMCTL = """#!/bin/sh
here="$(dirname "$0")"
echo "$@" >> "$here/told"
case "$1" in
start) test ! -e "$here/broken" ;;
show) cat "$here/state" ;;
reset-failed) exit 1 ;;
esac
"""
BUSCTL = """#!/bin/sh
case "$*" in
*GetUnit*) echo 'o "/org/freedesktop/systemd1/unit/driver"' ;;
*unit/driver*Service*) cat "$(dirname "$0")/facts" ;;
esac
"""
JOURNALCTL = "#!/bin/sh\necho the last words\n"


@pytest.fixture
def node(tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node, whose root is a directory, in a cluster that hands out tokens."""
    bin_dir, root = tmp_path / "bin", tmp_path / "root"
    bin_dir.mkdir()
    for name, text in (("docker", ENGINE), ("systemctl", SYSTEMCTL), ("busctl", BUSCTL), ("journalctl", JOURNALCTL)):
        (bin_dir / name).write_text(text)
        (bin_dir / name).chmod(0o755)
    (bin_dir / "state").write_text("active\n")
    facts(bin_dir, 15, 10, 1, 0)
    for name in ("HOME", "UNITS"):
        monkeypatch.setattr(f"drivers.service.{name}", root / name.lower())
    monkeypatch.setattr(service, "_LOOK", 0.01)
    monkeypatch.setattr(pools, "await_complete", lambda driver: memory.done.append(f"complete {driver.name}"))
    monkeypatch.setattr(OutsideDriver, "await_registered", lambda *_: 0.0)
    memory.put({"kind": "Node", "metadata": {"name": "n"}})
    ports = [{"port": 443}]
    metadata: Object = {"name": "kubernetes", "namespace": "default"}
    memory.put({"kind": "Service", "metadata": metadata, "spec": {"clusterIP": "10.96.0.1", "ports": ports}})
    metadata = {"name": "kube-root-ca.crt", "namespace": SPACE}
    memory.put({"kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": "certificate"}})
    return tmp_path


def facts(bin_dir: Path, watchdog: int, abort: int, pause: int, restarts: int) -> None:
    times = "".join(f"t {seconds * 1000000}\n" for seconds in (watchdog, abort, pause))
    (bin_dir / "facts").write_text(f"{times}u {restarts}\n")


@pytest.fixture
def asked(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[Object]:
    """The tokens that were asked for."""
    requests: list[Object] = []

    def post(path: str, body: Object) -> Object:
        assert path == f"/api/v1/namespaces/{SPACE}/serviceaccounts/driver-1a2b3c/token"
        requests.append(body["spec"])
        return {"status": {"token": "secret"}}

    monkeypatch.setattr(memory, "post", post)
    return requests


@pytest.fixture
def driver(node: Path, memory: Memory, asked: list[Object]) -> OutsideDriver:
    assert asked == []
    return made(node, memory)


def made(node: Path, memory: Memory, saboteur: str = "") -> OutsideDriver:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    shell = DockerShell("n", node / "bin" / "docker", kubelet_root=node / "kubelet")
    timeouts = Timeouts(overrides={"driver_start": 0.1})
    return OutsideDriver(memory, instance, ["n"], {"n": shell}, timeouts, REGISTRY.get(saboteur))


def told(node: Path) -> list[str]:
    return (node / "bin" / "told").read_text().splitlines()


def test_the_service_is_on_the_node_and_no_pod_in_the_cluster(
    driver: OutsideDriver, node: Path, memory: Memory
) -> None:
    driver.install()
    assert told(node) == ["daemon-reload", f"start {UNIT}"]
    unit = (node / "root/units" / UNIT).read_text()
    assert "API_SERVER=https://10.96.0.1:443\n" in unit
    assert "WatchdogSec=15\n" in unit
    files = {path.name: path for path in (node / "root/home/1a2b3c").iterdir()}
    assert files["ca.crt"].read_text() == "certificate"
    assert files["token"].read_text() == "secret"
    assert files["token"].stat().st_mode & 0o777 == 0o600
    assert files["code.zip"].read_bytes().startswith(b"PK")
    kinds = {kind for kind, _, _ in memory.objects}
    assert {"ServiceAccount", "ClusterRole", "DeviceClass"} <= kinds
    assert not {"Pod", "DaemonSet"} & kinds
    assert memory.done[-1] == "complete d-1a2b3c.fake.dra"


def test_its_token_is_bound_to_the_node(driver: OutsideDriver, asked: list[Object], memory: Memory) -> None:
    driver.install()
    uid = memory.get("Node", "n")["metadata"]["uid"]
    assert asked == [{"boundObjectRef": {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": uid}}]


def test_large_files_arrive_whole(driver: OutsideDriver, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.install()
    whole = (node / "root/home/1a2b3c/code.zip").read_bytes()
    monkeypatch.setattr(service, "_CHUNK", 1000)
    driver.install()
    assert (node / "root/home/1a2b3c/code.zip").read_bytes() == whole


def test_a_service_that_does_not_start_fails_with_its_last_words(driver: OutsideDriver, node: Path) -> None:
    (node / "bin" / "broken").touch()
    with pytest.raises(CheckFailed) as caught:
        driver.install()
    assert caught.value.context == "the last words\n"


def test_nothing_of_it_stays(driver: OutsideDriver, node: Path, memory: Memory) -> None:
    driver.install()
    (node / "kubelet/plugins/d-1a2b3c.fake.dra").mkdir(parents=True)
    (node / "kubelet/plugins_registry").mkdir()
    (node / "kubelet/plugins_registry/d-1a2b3c.fake.dra-reg.sock").touch()
    driver.remove()
    assert told(node)[2:] == [f"stop {UNIT}", "daemon-reload", f"reset-failed {UNIT}"]
    assert list((node / "root").rglob("*")) == [node / "root/units"]
    assert not list((node / "kubelet").rglob("*1a2b3c*"))
    assert {kind for kind, _, _ in memory.objects} == {"Node", "Service", "ConfigMap"}


def test_what_was_not_installed_is_not_stopped(driver: OutsideDriver, node: Path) -> None:
    driver.remove()
    assert not (node / "bin" / "told").exists()


def test_supervision_is_read_from_systemd(driver: OutsideDriver, node: Path) -> None:
    facts(node / "bin", 20, 5, 2, 3)
    assert driver.supervision() == Supervision(watchdog=20, abort=5, pause=2, restarts=3)


def test_a_unit_without_a_watchdog_is_not_supervised(driver: OutsideDriver, node: Path) -> None:
    facts(node / "bin", 0, 90, 0, 0)
    with pytest.raises(CheckFailed, match="nobody watches it"):
        driver.supervision()


def test_the_saboteur_takes_the_supervision_out_of_the_unit(node: Path, memory: Memory, asked: list[Object]) -> None:
    made(node, memory, "unit-without-supervision").install()
    assert asked
    unit = (node / "root/units" / UNIT).read_text()
    assert "ExecStart=" in unit
    assert "Watchdog" not in unit
    assert "Restart=" not in unit


def test_a_restart_is_over_when_the_service_is_active_again(driver: OutsideDriver, node: Path) -> None:
    before = Supervision(0.1, 0, 0, restarts=1)
    facts(node / "bin", 15, 10, 1, 2)
    driver.await_restart(before)
    (node / "bin" / "state").write_text("activating\n")
    with pytest.raises(CheckFailed, match="restarted 1 times, it is activating"):
        driver.await_restart(before)


def test_a_service_that_hangs_goes_on_when_all_is_undone(driver: OutsideDriver, node: Path) -> None:
    driver.install()
    driver.hang()
    assert told(node)[-1] == f"kill --signal STOP {UNIT}"
    assert driver.undo.undo(driver.kube, driver.shells) == []
    assert told(node)[-1] == f"kill --signal CONT {UNIT}"
