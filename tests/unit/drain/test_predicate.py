"""Who holds a driver on a node: the table of cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.drain.predicate import Holder, describe, holders
from tests.unit.drain.objects import DRIVER, NODE, SPACE, claim, pod, slice_of, unallocated

Object = dict[str, Any]


def words(*objects: Object, drivers: set[str] | None = None, node: str = NODE) -> list[str]:
    """What the predicate says of a cluster with these objects."""
    of_kind: Callable[[str], list[Object]] = lambda kind: [item for item in objects if item["kind"] == kind]  # noqa: E731
    wanted = {DRIVER} if drivers is None else drivers
    return [str(h) for h in holders(node, wanted, of_kind("Pod"), of_kind("ResourceClaim"), of_kind("ResourceSlice"))]


DIRECT = pod("a", claims=["c"])
MADE = pod("a", made=["a-c"])
EXTENDED = pod("a", extended="a-extended")
OTHER = pod("b", claims=["c"], node="node-2")


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        pytest.param([DIRECT, claim("c", DIRECT)], "claim web/c of gpu.example.com, used by pod web/a", id="direct"),
        pytest.param([MADE, claim("a-c", MADE)], "claim web/a-c of gpu.example.com, used by pod web/a", id="template"),
        pytest.param(
            [EXTENDED, claim("a-extended", EXTENDED)],
            "claim web/a-extended of gpu.example.com, used by pod web/a",
            id="extended resource",
        ),
        pytest.param(
            [DIRECT, pod("b", claims=["c"]), claim("c", DIRECT, pod("b", claims=["c"]))],
            "claim web/c of gpu.example.com, used by pod web/a, pod web/b",
            id="shared",
        ),
        pytest.param([claim("c")], "claim web/c of gpu.example.com, allocated, reserved for nobody", id="unused"),
        pytest.param(
            [claim("c", pod("late", node=""))],
            "claim web/c of gpu.example.com, used by pod web/late",
            id="reserved for a pod that is not bound yet",
        ),
        pytest.param(
            [pod("a", claims=["c"], leaving=True), claim("c", DIRECT)],
            "claim web/c of gpu.example.com, used by pod web/a (Terminating)",
            id="terminating",
        ),
        pytest.param(
            [pod("a", claims=["c"], phase="Succeeded"), claim("c", DIRECT)],
            "claim web/c of gpu.example.com, used by pod web/a (Succeeded)",
            id="finished, but not deallocated yet",
        ),
        pytest.param(
            [pod("a", claims=["c"], owner="DaemonSet/monitor"), claim("c", DIRECT)],
            "claim web/c of gpu.example.com, used by pod web/a of DaemonSet monitor",
            id="of a DaemonSet",
        ),
        pytest.param(
            [claim("c", node=None), slice_of(NODE, node=NODE)],
            "claim web/c of gpu.example.com, allocated, reserved for nobody",
            id="named by the pool alone",
        ),
        pytest.param(
            [claim("c", node=None, pool="rack"), slice_of("rack", devices=({"name": "d0", "nodeName": NODE},))],
            "claim web/c of gpu.example.com, allocated, reserved for nobody",
            id="named by the device alone",
        ),
        pytest.param(
            [DIRECT, claim("c", DIRECT, node=None, pool="network")],
            "claim web/c of gpu.example.com, used by pod web/a",
            id="network device, pod here",
        ),
        pytest.param(
            [DIRECT, OTHER, claim("c", OTHER, DIRECT, node=None, pool="network")],
            "claim web/c of gpu.example.com, used by pod web/b, pod web/a",
            id="network device, pods here and elsewhere",
        ),
        pytest.param(
            [DIRECT, unallocated("c")],
            "claim web/c of an unknown driver, used by pod web/a though it is not allocated any more",
            id="deallocated under a running pod",
        ),
        pytest.param(
            [DIRECT],
            "claim web/c of an unknown driver, used by pod web/a though it is not allocated any more",
            id="deleted under a running pod",
        ),
    ],
)
def test_it_is_not_safe_to_stop(objects: list[Object], told: str) -> None:
    assert words(*objects) == [told]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([], id="nothing"),
        pytest.param([pod("a", claims=["c"], phase="Succeeded"), unallocated("c")], id="finished"),
        pytest.param([pod("a", made=["c"], phase="Failed")], id="failed, its claim deleted"),
        pytest.param([DIRECT, claim("c", DIRECT, driver="nic.example.com")], id="another driver"),
        pytest.param([OTHER, claim("c", OTHER, node="node-2", pool="node-2")], id="another node"),
        pytest.param([OTHER, claim("c", OTHER, node=None, pool="network")], id="network device, pod elsewhere"),
        pytest.param([claim("c", node=None, pool="rack"), slice_of("rack", devices=({"name": "d1"},))], id="a rack's"),
        pytest.param([pod("a", claims=["c"], phase="Pending"), unallocated("c")], id="not started, not allocated"),
        pytest.param([pod("a")], id="a pod without claims"),
    ],
)
def test_it_is_safe_to_stop(objects: list[Object]) -> None:
    assert words(*objects) == []


def test_without_drivers_all_count_and_each_is_named() -> None:
    both = [claim("c"), claim("n", driver="nic.example.com")]
    assert [h.driver for h in holders(NODE, None, [], both, [])] == [DRIVER, "nic.example.com"]
    assert holders(NODE, {"nic.example.com"}, [], both, []) == [Holder("nic.example.com", f"{SPACE}/n", ())]


def test_a_selector_that_leaves_a_choice_names_no_node() -> None:
    wide = claim("c", pool="rack")
    term = wide["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]
    term["matchFields"][0]["values"].append("node-2")
    assert words(wide) == []
    term["matchFields"] = []
    term["matchExpressions"] = [{"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}]
    assert len(words(wide)) == 1


def test_a_reservation_for_something_else_than_a_pod_is_shown_as_it_is() -> None:
    item = claim("c")
    item["status"]["reservedFor"] = [
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "x"}
    ]
    assert words(item) == ["claim web/c of gpu.example.com, used by podgroup web/g"]


def test_a_pod_is_described_by_how_it_will_end() -> None:
    assert describe(pod("a", owner="ReplicaSet/r")) == "pod web/a"
    assert describe(pod("a", owner="DaemonSet/d", leaving=True)) == "pod web/a of DaemonSet d (Terminating)"
