from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node

SHARE = "6f2bbd4c-6c0a-4d38-8b8c-6e3d5f6a7b10"


def test_a_container_sees_the_allocated_device(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-1")
    answer = driver.prepare(claim)[claim.uid]
    (device,) = answer.devices
    assert (list(device.request_names), device.pool_name, device.device_name) == (["r0"], "node-1", "device-1")
    ((name, value),) = node.environment(answer).items()
    assert re.fullmatch(r"DRA_FAKE_\w+", name)
    assert value == "d.fake.dra/node-1/device-1"


def test_each_device_has_a_variable_of_its_own(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0", "device-3")
    answer = driver.prepare(claim)[claim.uid]
    assert sorted(node.environment(answer).values()) == ["d.fake.dra/node-1/device-0", "d.fake.dra/node-1/device-3"]
    assert [list(device.request_names) for device in answer.devices] == [["r0"], ["r1"]]


def test_a_subrequest_is_answered_by_its_request(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0", request="gpu/large")
    assert list(driver.prepare(claim)[claim.uid].devices[0].request_names) == ["gpu"]


def test_only_own_results_are_prepared(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0", "device-1")
    results = node.api.claims["default", claim.name]["status"]["allocation"]["devices"]["results"]
    results[0]["driver"] = "other.example.com"
    assert [d.device_name for d in driver.prepare(claim)[claim.uid].devices] == ["device-1"]
    results[1]["driver"] = "other.example.com"
    assert "no device of d.fake.dra" in driver.prepare(claim)[claim.uid].error


def test_preparing_again_answers_the_same_and_rewrites_the_cdi_file(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-1")
    first = driver.prepare(claim)[claim.uid]
    (file,) = node.cdi_files()
    assert file.name == f"d.fake.dra-{claim.uid}.json"
    spec = json.loads(file.read_text())
    file.unlink()
    assert driver.prepare(claim)[claim.uid] == first
    assert json.loads(file.read_text()) == spec


def test_a_claim_that_comes_back_with_another_device_gets_that_one(node: Node) -> None:
    driver = node.start()
    claim, other = node.claim("device-1"), node.claim("device-1")
    driver.prepare(claim)
    node.api.claims["default", claim.name]["status"]["allocation"]["devices"]["results"][0]["device"] = "device-2"
    assert driver.prepare(claim)[claim.uid].devices[0].device_name == "device-2"
    assert not driver.prepare(other)[other.uid].error


def test_each_claim_fails_or_succeeds_on_its_own(node: Node) -> None:
    driver = node.start()
    good, unallocated, gone, replaced, absent = (
        node.claim("device-0"),
        node.claim(),
        node.claim("device-1"),
        node.claim("device-2"),
        node.claim("device-9"),
    )
    del node.api.claims["default", gone.name]
    node.api.claims["default", replaced.name]["metadata"]["uid"] = "newer"
    answers = driver.prepare(good, unallocated, gone, replaced, absent)
    assert len(answers) == 5
    assert not answers[good.uid].error
    assert "is not allocated" in answers[unallocated.uid].error
    assert "404" in answers[gone.uid].error
    assert "has UID newer" in answers[replaced.uid].error
    assert "has no device device-9" in answers[absent.uid].error
    assert [claim.name in answers[claim.uid].error for claim in (unallocated, gone, replaced, absent)] == [True] * 4
    assert len(node.cdi_files()) == 1


def test_a_held_device_is_refused_until_it_is_free(node: Node) -> None:
    driver = node.start()
    holder, claim = node.claim("device-0", name="holder"), node.claim("device-0")
    driver.prepare(holder)
    assert f"still held by claim default/holder ({holder.uid})" in driver.prepare(claim)[claim.uid].error
    driver.unprepare(holder)
    assert not driver.prepare(claim)[claim.uid].error


@pytest.mark.parametrize("result", [{"adminAccess": True}, {"shareID": SHARE}])
def test_a_shared_device_can_be_held_twice(node: Node, result: dict[str, Any]) -> None:
    driver = node.start()
    claims = [node.claim("device-0", **result), node.claim("device-0", **result)]
    assert [driver.prepare(claim)[claim.uid].error for claim in claims] == ["", ""]


def test_the_share_id_is_told_in_v1_only(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0", shareID=SHARE)
    assert driver.prepare(claim)[claim.uid].devices[0].share_id == SHARE
    old = driver.prepare(claim, version="v1beta1.DRAPlugin")[claim.uid].devices[0]
    assert old.device_name == "device-0"
    assert not old.DESCRIPTOR.fields_by_name.get("share_id")


def test_unprepare_needs_no_api_server(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0")
    driver.prepare(claim)
    node.api.claims.clear()
    node.api.close()
    assert driver.unprepare(claim)[claim.uid].error == ""
    assert node.cdi_files() == []


def test_unprepare_of_an_unknown_claim_is_a_success(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0")
    assert driver.unprepare(claim)[claim.uid].error == ""
    assert driver.unprepare(claim, version="v1beta1.DRAPlugin")[claim.uid].error == ""


def test_a_slow_claim_does_not_delay_another(node: Node) -> None:
    driver = node.start()
    slow, quick = node.claim("device-0", name="slow"), node.claim("device-1")
    driver.inject({"method": "NodePrepareResources", "claim": "slow", "delay": 1.5})
    answers: dict[str, object] = {}
    thread = threading.Thread(target=lambda: answers.update(driver.prepare(slow)))
    thread.start()
    node.until(lambda: any(entry["end"] is None for entry in driver.journal()))
    assert not driver.prepare(quick)[quick.uid].error
    assert not answers
    thread.join()
    assert slow.uid in answers


def test_a_claim_must_hold_all_devices_if_the_hardware_is_like_that(node: Node) -> None:
    driver = node.start(devices=3, all_devices=True)
    some, every = node.claim("device-0", "device-2"), node.claim("device-0", "device-1", "device-2")
    answers = driver.prepare(some, every)
    assert "must hold all devices of a node, this one lacks device-1" in answers[some.uid].error
    assert len(answers[every.uid].devices) == 3
    assert driver.unprepare(some)[some.uid].error == ""


def test_a_device_is_shown_by_a_file_instead_of_a_variable_where_that_is_set(node: Node) -> None:
    driver = node.start(shown_by_node=True)
    claim = node.claim("device-1")
    driver.prepare(claim)
    (file,) = node.cdi_files()
    (device,) = json.loads(file.read_text())["devices"]
    assert device["containerEdits"].keys() == {"deviceNodes"}
    (shown,) = device["containerEdits"]["deviceNodes"]
    assert shown["path"] == "/dev/fake/d.fake.dra/node-1/device-1"
    assert (shown["hostPath"], shown["type"], shown["major"], shown["minor"]) == ("/dev/null", "c", 1, 3)
