"""Which pods a kubelet ends first when its node is shut down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fixtures.drain_checks.shutdown import CRITICAL, Shutdown, priority_of, shutdown_of
from fixtures.kube.api import Kube


class Kubelet(Kube):
    """A kubelet with a configuration."""

    def __init__(self, **config: Any) -> None:
        self.config = config

    def raw(self, method: str, path: str, **_: Any) -> str:
        assert (method, path) == ("get", "/api/v1/nodes/node-1/proxy/configz")
        return json.dumps({"kubeletconfig": self.config})


@pytest.mark.parametrize(
    ("priority", "group"), [(-5, 0), (0, 0), (99, 0), (100, 1), (CRITICAL - 1, 1), (CRITICAL, 2), (CRITICAL + 1000, 2)]
)
def test_a_pod_belongs_to_the_last_group_that_begins_below_it(priority: int, group: int) -> None:
    assert Shutdown(enabled=True, thresholds=(0, 100, CRITICAL)).group(priority) == group


def test_without_groups_of_its_own_a_kubelet_has_ordinary_and_critical_pods() -> None:
    off, on = (shutdown_of(Kubelet(shutdownGracePeriod=period), "node-1") for period in ("0s", "30s"))
    assert (off.enabled, on.enabled) == (False, True)
    assert off.thresholds == on.thresholds == (0, CRITICAL)


def test_a_kubelets_own_groups_count_in_the_order_of_their_priorities() -> None:
    periods = [{"priority": p, "shutdownGracePeriodSeconds": 10} for p in (100000, 0)]
    assert shutdown_of(Kubelet(shutdownGracePeriodByPodPriority=periods), "node-1") == Shutdown(True, (0, 100000))


def test_a_pod_without_a_priority_has_priority_zero() -> None:
    assert [priority_of({"spec": spec}) for spec in ({}, {"priority": None}, {"priority": 7})] == [0, 0, 7]
