"""What drivers and kubelets try: slices, the status of claims, and what they need or must not have."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.check.outcomes import CheckFailed, OtherOutcome
from fixtures.rbac.personas import claim_status, driver_rights, slices
from fixtures.rbac.personas.attempts import Response

if TYPE_CHECKING:
    from tests.unit.rbac.personas.conftest import Stage

Object = dict[str, Any]
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
THERE = {"items": [{"metadata": {"name": "s1", "resourceVersion": "7"}, "spec": {"nodeName": "b"}}]}


def test_a_node_has_all_writes_tried_without_changing_anything(stage: Stage) -> None:
    admin, kube = stage.scripted({f"get {SLICES}": THERE}), stage.scripted(default=422)
    answers = slices.of_node(stage.persona(kube), admin, "v1", "d", "b")
    assert list(answers) == ["create", "update", "patch", "delete", "deletecollection"]
    assert {p["dry_run"] for _, _, p in kube.asked} == {"All"}
    created, updated = (p["body"] for _, _, p in kube.asked[:2])
    assert created["spec"]["nodeName"] == "b"
    assert "resourceVersion" not in updated["metadata"]
    assert kube.lines[1:4] == [f"put {SLICES}/s1", f"patch {SLICES}/s1", f"delete {SLICES}/s1"]
    assert kube.asked[4][2]["field_selector"] == "spec.nodeName=b"
    assert admin.asked[0][2]["field_selector"] == "spec.driver=d,spec.nodeName=b"
    assert slices.done(answers) == []


def test_slices_for_all_nodes_can_only_be_new(stage: Stage) -> None:
    kube = stage.scripted(default=200)
    answers = slices.of_node(stage.persona(kube), stage.scripted(), "v1", "d", None)
    assert slices.done(answers) == ["create"]
    assert kube.asked[0][2]["body"]["spec"]["allNodes"] is True


def test_an_answer_that_is_neither_success_nor_refusal_is_unclear() -> None:
    assert slices.done({"create": Response(200), "patch": Response(403), "update": Response(422)}) == ["create"]
    with pytest.raises(slices.Unclear, match="delete: HTTP 404"):
        slices.done({"delete": Response(404)})


def test_reading_is_tried_by_name_by_node_and_at_all(stage: Stage) -> None:
    admin = stage.scripted({f"get {SLICES}": THERE})
    kube = stage.scripted({f"get {SLICES}/s1": 200})
    assert slices.readable(stage.persona(kube), admin, "v1", "d", "b") == ["get"]


def test_a_kubelet_that_is_refused_its_own_slices_proves_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_SETTLE", 0)
    admin = stage.scripted({f"get {SLICES}": THERE})
    slices.await_own(stage.persona(stage.scripted(default=200)), admin, "d", "b")
    with pytest.raises(CheckFailed, match="a kubelet can read its own slices"):
        slices.await_own(stage.persona(stage.scripted()), admin, "d", "b")


def test_probes_are_there_for_a_while() -> None:
    made: list[str] = []
    gone: list[str] = []

    def create(item: Object) -> Object:
        made.append(item["metadata"]["name"])
        if len(made) == 2:
            raise ValueError("full")
        return item

    admin: Any = SimpleNamespace(create=create, delete=lambda _kind, name: gone.append(name))
    with pytest.raises(ValueError, match="full"), slices.probes(admin, "d", ["a", "b"], "run"):
        pass
    assert gone == ["d-a"]


CLAIM: Object = {
    "metadata": {"name": "c", "namespace": "ns"},
    "status": {
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}},
    },
}
DEVICES = 'changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:patch]"'
GATE = f'kubernetes_feature_enabled{{{{name="{claim_status.GATE}",stage="BETA"}}}} {{}}\n'
BINDING = 'changing status.allocation or status.reservedFor requires resource="resourceclaims/binding"'


@pytest.mark.parametrize(
    ("answer", "past"),
    [
        (Response(200), True),
        (Response(403, "forbidden"), False),
        (Response(422, f"status.devices: Forbidden: {DEVICES}"), False),
        (Response(422, f"[{BINDING}, status.devices: Invalid value]"), False),
        (Response(422, "status.devices[0]: Invalid value: must be an allocated device in the claim"), True),
    ],
)
def test_a_refusal_is_told_by_its_words(answer: Response, past: bool) -> None:
    assert claim_status.passes(answer) == past


def test_what_is_not_the_drivers_own_is_tried(stage: Stage) -> None:
    other = json.loads(json.dumps(CLAIM).replace('"c"', '"other"'))
    kube = stage.scripted(default=200)
    found = claim_status.trespasses(stage.persona(kube), CLAIM, other, ["v1"])
    assert found == [
        "v1 status.devices of a claim on another node",
        "v1 status.devices in the name of driver other.dra-conformance",
        "v1 status.reservedFor",
    ]
    bodies = [p["body"]["status"] for _, _, p in kube.asked]
    assert [path.rsplit("/", 2)[1] for _, path, _ in kube.asked] == ["other", "c", "c"]
    assert [b["devices"][0]["driver"] for b in bodies[:2]] == ["d", "other.dra-conformance"]
    assert [user["name"] for user in bodies[2]["reservedFor"]] == ["p", "dra-conformance-nonexistent"]
    assert {p["dry_run"] for _, _, p in kube.asked} == {"All"}


@pytest.mark.parametrize(("metrics", "off"), [(GATE.format(0), True), (GATE.format(1), False), ("", False)])
def test_finer_rights_are_there_unless_switched_off(metrics: str, off: bool) -> None:
    kube: Any = SimpleNamespace(raw=lambda _method, _path: metrics)
    with pytest.raises(OtherOutcome) if off else nullcontext() as ended:
        claim_status.needs_finer_rights(kube)
    if off and ended:
        assert ended.value.outcome == "not-applicable"


def test_a_driver_lacks_what_is_refused(stage: Stage) -> None:
    assert driver_rights.lacks(stage.persona(stage.scripted(default=404)), stage.served) == []
    lacking = driver_rights.lacks(stage.persona(stage.scripted()), stage.served)
    assert lacking == [
        "v1 get resourceclaims in ns",
        "v1beta1 get resourceclaims in ns",
        "v1 create resourceslices",
        "v1 delete resourceslices",
        "v1 update resourceslices or v1 patch resourceslices",
    ]
    one_way = stage.scripted({f"patch {SLICES}": 403}, default=404)
    assert driver_rights.lacks(stage.persona(one_way), stage.served) == []


def test_a_driver_with_all_rights_has_far_too_many(stage: Stage) -> None:
    kube = stage.scripted(default=404)
    kube.allows = True
    found = driver_rights.excessive(stage.persona(kube), stage.served)
    for word in (
        "v1 list secrets in kube-system",
        "v1 create pods in ns",
        "v1 create serviceaccounts/token in kube-system",
        "v1 patch deviceclasses",
        "v1beta1 update resourceclaims in ns",
        "v1 create rolebindings in ns",
        "v1 create clusterrolebindings",
        "v1 update resourceclaims/binding",
    ):
        assert word in found
    assert all(p.get("dry_run") == "All" for method, _, p in kube.asked if method != "get")
    assert driver_rights.excessive(stage.persona(stage.scripted()), stage.served) == []


def test_what_known_drivers_have_is_tolerated(stage: Stage) -> None:
    kube = stage.scripted({"get /api/v1/namespaces/kube-system/pods": 200, "patch /api/v1/nodes/": 404})
    found = driver_rights.tolerated(stage.persona(kube))
    assert found == [*(f"v1 {verb} pods in kube-system" for verb in ("get", "list", "watch")), "v1 patch nodes"]
    assert [str(attempt) for attempt in driver_rights.helpful()][-1] == "v1 get nodes"
