from __future__ import annotations

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from drivers.fake import journal

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node


def test_the_journal_has_one_line_per_claim_of_all_instances(node: Node) -> None:
    old, new = node.start(version="1.0.0"), node.start(version="2.0.0")
    good, bad = node.claim("device-0", name="good"), node.claim(name="bad")
    begin = time.time()
    old.prepare(good, bad)
    new.unprepare(good)
    lines = [entry for entry in old.journal() if entry["method"] not in ("start", "stop")]
    assert lines == [entry for entry in new.journal() if entry["method"] not in ("start", "stop")]
    assert [(line["version"], line["method"], line["claim_name"]) for line in lines] == [
        ("1.0.0", "NodePrepareResources", "good"),
        ("1.0.0", "NodePrepareResources", "bad"),
        ("2.0.0", "NodeUnprepareResources", "good"),
    ]
    assert lines[0]["result"] == "ok"
    assert "is not allocated" in lines[1]["result"]
    assert lines[0]["claim_uid"] == good.uid
    assert lines[0]["instance"] == old.settings.pod_uid
    assert lines[0]["service"] == "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
    assert begin <= lines[0]["start"] <= lines[0]["end"] <= time.time()


def test_the_journal_is_bounded(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "SIZE_MAX", 2000)
    driver = node.start()
    claim = node.claim("device-0")
    for _ in range(20):
        driver.unprepare(claim)
    files = sorted(driver.settings.data_dir.glob("journal*.jsonl"))
    assert [file.name for file in files] == ["journal.jsonl", "journal.previous.jsonl"]
    assert sum(file.stat().st_size for file in files) < 5000
    assert 5 < len(driver.journal()) < 20


def test_metrics_count_calls_by_method_and_status(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0")
    driver.prepare(claim)
    driver.inject({"method": "NodePrepareResources", "code": "DEADLINE_EXCEEDED"})
    with pytest.raises(grpc.RpcError):
        driver.prepare(claim)
    text = driver.http("/metrics")[1]
    for status in ("OK", "DeadlineExceeded"):
        labels = (
            f'driver_name="d.fake.dra",grpc_status_code="{status}",'
            'method_name="/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"'
        )
        assert f"dra_grpc_operations_duration_seconds_count{{{labels}}} 1.0" in text
    assert 'workqueue_adds_total{name="node_resource_slices"}' in text


def test_an_injected_error_meets_so_many_calls_of_the_claim(node: Node) -> None:
    driver = node.start()
    claim, other = node.claim("device-0"), node.claim("device-1")
    driver.inject({"method": "NodePrepareResources", "claim": claim.name, "error": "no luck", "times": 1})
    assert driver.health() == "SERVING"
    answers = driver.prepare(claim, other)
    assert (answers[claim.uid].error, answers[other.uid].error) == ("no luck", "")
    assert len(node.cdi_files()) == 1
    assert json.loads(driver.http("/faults")[1])["rules"][0]["times"] == 0
    assert not driver.prepare(claim)[claim.uid].error


def test_an_omitted_claim_has_no_answer(node: Node) -> None:
    driver = node.start()
    claim, other = node.claim("device-0"), node.claim("device-1")
    driver.inject({"method": "NodePrepareResources", "claim": claim.name, "omit": True})
    assert driver.prepare(claim, other).keys() == {other.uid}
    assert [entry["result"] for entry in driver.journal() if entry["claim_name"]] == ["no answer", "ok"]


def test_a_claim_can_be_answered_under_another_uid(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0")
    driver.inject({"method": "NodePrepareResources", "wrong_uid": True})
    ((uid, answer),) = driver.prepare(claim).items()
    assert uid != claim.uid
    assert answer.devices[0].device_name == "device-0"


def test_a_call_can_hang_until_the_caller_gives_up(node: Node) -> None:
    driver = node.start()
    driver.inject({"method": "GetInfo", "hang": True})
    with pytest.raises(grpc.RpcError, match="DEADLINE_EXCEEDED"):
        driver.get_info(timeout=0.2)
    assert driver.health() == "SERVING"
    driver.inject()
    assert driver.get_info().name == "d.fake.dra"


def test_a_call_that_hangs_goes_on_when_the_rules_are_replaced(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0")
    driver.inject({"method": "NodePrepareResources", "hang": True})
    with ThreadPoolExecutor(1) as background:
        answers = background.submit(driver.prepare, claim)
        node.until(lambda: any(entry["end"] is None for entry in driver.journal()))
        assert not answers.done()
        driver.inject()
        assert not answers.result()[claim.uid].error


def test_a_call_can_end_with_a_status(node: Node) -> None:
    driver = node.start()
    driver.inject({"method": "NodeUnprepareResources", "code": "UNAVAILABLE"})
    with pytest.raises(grpc.RpcError, match="injected UNAVAILABLE"):
        driver.unprepare(node.claim("device-0"))
    assert driver.journal()[-1]["result"] == "injected UNAVAILABLE"


@pytest.mark.parametrize(
    ("path", "document", "reason"),
    [
        ("/faults", {"rules": [{"method": "GetInfo", "dely": 1}]}, "delay"),
        ("/faults", {"rules": [{"method": "GetInfo", "code": "BROKEN"}]}, "UNAVAILABLE"),
        ("/faults", {"rules": [{"method": "GetInfo", "delay": "long"}]}, "long"),
        ("/faults", {"rules": [{"method": "GetInfo", "times": "1"}]}, "times must be"),
        ("/faults", {"planted": ["keeps-cdy"]}, "keeps-cdi"),
        ("/faults", {"planted": ["fixed-sockets"]}, "when the driver starts"),
        ("/faults", [], "planted, rules"),
        ("/devices", {"count": "many"}, "count must be"),
        ("/devices", {"number": 3}, "count, taints, health"),
        ("/devices", {"count": 1, "taints": {"device-0": [{"key": "k", "effect": "Always"}]}}, "NoExecute"),
        ("/devices", {"count": 1, "health": {"device-0": {"status": "ill"}}}, "Unhealthy"),
        ("/devices", {"count": 1, "health": []}, "items"),
    ],
)
def test_a_wrong_document_changes_nothing_and_is_told(node: Node, path: str, document: Any, reason: str) -> None:
    driver = node.start()
    before = driver.http(path)
    status, body = driver.http(path, document)
    assert (status, driver.http(path)) == (400, before)
    assert reason in json.loads(body)["error"]


def test_a_document_may_come_in_chunks(node: Node) -> None:
    driver = node.start()
    connection = http.client.HTTPConnection("127.0.0.1", driver.settings.admin_port, timeout=5)
    connection.request("PUT", "/devices", iter([b'{"count"', b": 7}"]), encode_chunked=True)
    with closing(connection):
        assert json.loads(connection.getresponse().read())["count"] == 7


def test_unknown_paths_are_told_the_known_ones(node: Node) -> None:
    driver = node.start()
    assert driver.http("/jornal")[0] == 404
    assert "/journal" in driver.http("/jornal")[1]
    assert driver.http("/metrics", {})[0] == 404
