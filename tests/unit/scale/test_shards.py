"""Shards of a load: told a plan, begun together, heard at the end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.check.outcomes import CheckFailed
from fixtures.kube.api import Kube
from fixtures.scale import shard
from fixtures.scale.generator import Sent, evenly
from fixtures.scale.pods import Pods
from fixtures.scale.shard_messages import config_map, heard, planned, since_epoch, start_of, starting, told
from fixtures.scale.shards import Shards

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
PLAN = evenly(Pods("ns", "run", {}).make("p", 5, claims=True), rate=100)
HOME = "shards-of-ns"


def test_a_plan_of_thousands_of_pods_fits_into_a_config_map() -> None:
    plan = evenly(Pods("ns", "run", {}).make("p", 8000, claims=True), rate=100)
    item = config_map("load-1", "ns", plan)
    assert planned(item) == plan
    assert len(str(item)) < 700_000


def test_moments_are_of_the_wall_clock_between_hosts() -> None:
    now = time.monotonic()
    sent, cpu = heard(told(([Sent("p", now, now + 1, now + 2)], 0.25)))
    assert (sent[0].name, cpu) == ("p", 0.25)
    assert [sent[0].due, sent[0].answered] == pytest.approx([now, now + 2], abs=0.01)


def test_the_start_is_unknown_until_it_is_told() -> None:
    item = config_map("load-1", "ns", PLAN)
    assert start_of([item]) is None
    assert start_of([{**item, **starting(12.5)}]) == 12.5


def a_pod(labels: Object, index: int, *, ready: bool = False, phase: str = "Running") -> Object:
    metadata = {"name": f"shard-{index}", "namespace": HOME, "labels": labels}
    condition = {"type": "Ready", "status": str(ready)}
    return {"kind": "Pod", "metadata": metadata, "spec": {}, "status": {"phase": phase, "conditions": [condition]}}


@pytest.fixture
def shards(memory: Memory) -> Shards:
    return Shards(memory, HOME, "ns", "run", 2)


def labels_of_job(memory: Memory) -> Object:
    (job,) = (item for (kind, _, _), item in memory.objects.items() if kind == "Job")
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 2
    return dict(job["spec"]["template"]["metadata"]["labels"])


def become(memory: Memory, **state: Any) -> None:
    for index in range(2):
        memory.put(a_pod(labels_of_job(memory), index, **state))


def test_shards_begin_when_all_are_ready_and_are_heard_when_all_have_ended(
    shards: Shards, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float] = []

    def end() -> None:
        (start,) = (start_of([i]) for (kind, _, _), i in memory.objects.items() if kind == "ConfigMap")
        assert start is not None
        begun.append(start)
        become(memory, phase="Succeeded")

    def log(_: str, path: str) -> str:
        index, start = int(path.split("/")[-2][-1]), begun[0] - since_epoch()
        sent = [Sent(one.pod["metadata"]["name"], start, start, start + 1) for one in PLAN[index::2]]
        return f"a warning\n{told((sent, 0.1))}\n"

    monkeypatch.setattr(memory, "raw", log)
    memory.later = [lambda: become(memory), lambda: become(memory, ready=True), end]
    sent, pace = shards.create(PLAN)
    assert sorted(one.name for one in sent) == [f"p-{n}" for n in range(5)]
    assert pace.lag.max == pytest.approx(0, abs=0.01)


def test_shards_that_do_not_come_up_say_so(shards: Shards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fixtures.scale.shards.START_LIMIT", 1e-9)
    with pytest.raises(CheckFailed, match="2 shards of the load are ready"):
        shards.create(PLAN)


def test_a_shard_that_failed_is_told_with_its_last_word(
    shards: Shards, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "raw", lambda *_: "Traceback\nApiError: 403 pods is forbidden\n")
    memory.later = [lambda: become(memory, ready=True), lambda: become(memory, phase="Failed")]
    with pytest.raises(CheckFailed, match="shard-0 failed: ApiError: 403 pods is forbidden"):
        shards.create(PLAN)


def test_a_shard_creates_its_share_and_tells_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    monkeypatch.setattr(shard, "READY", tmp_path / "ready")
    monkeypatch.setattr(shard, "single_out", lambda *_: type("Access", (), {"kubeconfig": tmp_path}))
    monkeypatch.setattr(Kube, "from_kubeconfig", lambda *_: memory)
    memory.put(config_map("load-1", "ns", PLAN))
    memory.later = [lambda: memory.patch("ConfigMap", "load-1", "ns", starting(time.time()))]
    shard.main("ns", "load-1", 2)
    sent, _ = heard(capsys.readouterr().out)
    assert (tmp_path / "ready").exists()
    assert [one.name for one in sent] == ["p-1", "p-3"]
    assert {name for kind, _, name in memory.objects if kind == "Pod"} == {"p-1", "p-3"}
