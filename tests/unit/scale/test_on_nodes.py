"""What kubelets and a driver used, from what kubelets serve."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.kube import metrics
from fixtures.scale.on_nodes import DRIVER, KUBELET, Spent, spent, table

OWN = "process_cpu_seconds_total 10\nprocess_resident_memory_bytes 1000\nother 1\n"


def resources(at: int) -> str:
    lines = [
        ("container_cpu_usage_seconds_total", "mine", 2.0),
        ("container_cpu_usage_seconds_total", "other", 7.0),
        ("container_memory_working_set_bytes", "mine", 300.0),
    ]
    return "".join(f'{n}{{container="c",namespace="d",pod="{pod}"}} {value} {at}\n' for n, pod, value in lines)


def test_all_nodes_are_added_up_from_numbers_that_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    stale_then_fresh = {node: [resources(1_000), resources(9_000)] for node in ("a", "b")}
    monkeypatch.setattr(metrics, "kubelet_text", lambda *_: OWN)
    monkeypatch.setattr(metrics, "resources_text", lambda _, node: stale_then_fresh[node].pop(0))
    monkeypatch.setattr("time.time", lambda: 5.0)
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    driver: Any = SimpleNamespace(kube=None, nodes=["a", "b"], home="d", pods=lambda: [{"metadata": {"name": "mine"}}])
    assert spent(driver) == {KUBELET: Spent(20.0, 2000.0), DRIVER: Spent(4.0, 600.0)}
    assert stale_then_fresh == {"a": [], "b": []}


def test_a_driver_of_which_a_kubelet_has_no_fresh_numbers_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fixtures.scale.on_nodes._LATE", 0.01)
    monkeypatch.setattr(metrics, "kubelet_text", lambda *_: OWN)
    monkeypatch.setattr(metrics, "resources_text", lambda _, node: resources(9_000_000 if node == "a" else 1_000))
    monkeypatch.setattr("time.time", lambda: 5.0)
    driver: Any = SimpleNamespace(kube=None, nodes=["a", "b"], home="d", pods=lambda: [{"metadata": {"name": "mine"}}])
    seen = spent(driver)
    assert seen.keys() == {KUBELET}
    assert {row[0] for row in table(20, seen, seen, seen).rows} == {KUBELET}


def test_what_claims_add_is_told_per_pod() -> None:
    milestones = [{KUBELET: Spent(cpu, 1 << 20), DRIVER: Spent(cpu / 2, 1 << 20)} for cpu in (1.0, 1.2, 1.8)]
    assert table(20, *milestones).rows == (
        ("kubelet", "CPU per pod, ms", "10.0", "30.0", "+20.0"),
        ("kubelet", "memory, MiB", "1.0", "1.0", "+0.0"),
        ("driver", "CPU per pod, ms", "5.0", "15.0", "+10.0"),
        ("driver", "memory, MiB", "1.0", "1.0", "+0.0"),
    )
