from __future__ import annotations

import json
import signal
import threading
from typing import TYPE_CHECKING

import grpc
import pytest

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node


def test_sigterm_finishes_calls_and_removes_the_sockets(node: Node) -> None:
    driver = node.spawn()
    node.pool()
    claim = node.claim("device-0")
    driver.inject({"method": "NodePrepareResources", "delay": 0.7})
    answers: dict[str, object] = {}
    thread = threading.Thread(target=lambda: answers.update(driver.prepare(claim)))
    thread.start()
    node.until(lambda: any(entry["end"] is None for entry in driver.journal()))
    assert driver.end() == 0
    thread.join()
    assert claim.uid in answers
    assert node.sockets() == set()
    assert len(node.pool()) == 1
    lines = (driver.settings.data_dir / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["method"] for line in lines] == ["start", "sigterm", "NodePrepareResources", "stop"]


def test_sigterm_ends_calls_that_hang(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.fake.driver.CALLS_GRACE_SECONDS", 0.2)
    driver = node.start()
    claim = node.claim("device-0")
    driver.inject({"method": "NodePrepareResources", "hang": True})
    failures: list[grpc.RpcError] = []

    def prepare() -> None:
        try:
            driver.prepare(claim, timeout=20)
        except grpc.RpcError as error:
            failures.append(error)

    thread = threading.Thread(target=prepare)
    thread.start()
    node.until(lambda: any(entry["end"] is None for entry in driver.journal()))
    driver.end()
    thread.join()
    assert len(failures) == 1
    journal = driver.settings.data_dir / "journal.jsonl"
    node.until(lambda: "NodePrepareResources" in journal.read_text())


def test_sigkill_leaves_sockets_that_the_next_instance_removes(node: Node) -> None:
    killed, living = node.spawn(), node.start()
    killed.signal(signal.SIGKILL)
    assert killed.process is not None
    killed.process.wait()
    assert {killed.service.name, killed.registration.name} < node.sockets()
    newcomer = node.start()
    assert node.sockets() == {
        path.name for driver in (living, newcomer) for path in (driver.service, driver.registration)
    }


def test_who_leaves_removes_the_sockets_of_the_dead(node: Node) -> None:
    living, killed = node.start(), node.spawn()
    killed.signal(signal.SIGKILL)
    assert killed.process is not None
    killed.process.wait()
    living.end()
    assert node.sockets() == set()


@pytest.mark.parametrize("seamless", [True, False])
def test_a_killed_container_is_followed_by_one_with_the_same_names(node: Node, seamless: bool) -> None:
    uid = "6f2bbd4c-6c0a-4d38-8b8c-6e3d5f6a7b10"
    killed = node.spawn(pod_uid=uid, seamless=seamless)
    killed.signal(signal.SIGKILL)
    assert killed.process is not None
    killed.process.wait()
    follower = node.start(pod_uid=uid, seamless=seamless)
    assert follower.health() == "SERVING"
    follower.end()
    assert node.sockets() == set()


def test_the_sockets_of_other_drivers_are_left_alone(node: Node) -> None:
    killed = node.spawn(driver_name="d.fake.dra-too")
    killed.signal(signal.SIGKILL)
    assert killed.process is not None
    killed.process.wait()
    before = node.sockets()
    node.start().end()
    assert node.sockets() == before


def test_a_leaving_instance_does_not_remove_the_socket_of_its_follower(node: Node) -> None:
    leaving, follower = node.start(seamless=False), node.start(seamless=False)
    leaving.end()
    assert follower.health() == "SERVING"
    assert node.sockets() == {"dra.sock", "d.fake.dra-reg.sock"}


def test_a_wrong_fault_ends_the_start_with_the_known_ones(node: Node) -> None:
    driver = node.spawn(wait=False, faults=("keeps-cdy",))
    assert driver.process is not None
    _, log = driver.process.communicate(timeout=10)
    assert driver.process.returncode == 2
    assert "unknown fault keeps-cdy; known are" in log
    assert "keeps-cdi" in log
