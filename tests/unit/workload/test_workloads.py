"""What users deploy, as objects; and what is read out of pods, claims and logs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import RUN_LABEL, Instance
from drivers.loading import load
from drivers.manifest import Claim
from fixtures.check.outcomes import CheckFailed, OtherOutcome
from fixtures.kube.affinity import only
from fixtures.kube.allocations import Device, devices_of
from fixtures.kube.api import Kube
from fixtures.kube.status import runs
from fixtures.kube.timeouts import Timeouts
from fixtures.workload.room import Room
from fixtures.workload.workloads import Workloads

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]


class Shelf(Kube):
    """Keeps what is created, and has objects and logs to give."""

    def __init__(self, *objects: Object, log: str = "") -> None:
        self.created: list[Object] = []
        self.objects, self.log = objects, log

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        assert not dry_run
        self.created.append(item)
        return item

    def list(self, kind: str, *_: Any, **__: Any) -> list[Object]:
        return [item for item in self.objects if item["kind"] == kind]

    def get(self, kind: str, name: str, *_: Any) -> Object:
        return next(i for i in self.objects if (i["kind"], i["metadata"]["name"]) == (kind, name))

    def logs(self, *_: Any, **__: Any) -> str:
        return self.log


def workloads(kube: Kube, **timeouts: float) -> Workloads:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return Workloads(kube, instance, Timeouts(1, timeouts))


def allocated(*results: tuple[str, str], **status: Any) -> Object:
    devices = [{"request": request, "driver": "d", "pool": "p", "device": device} for request, device in results]
    metadata = {"name": "c", "uid": "u"}
    status = {"allocation": {"devices": {"results": devices}}, **status}
    return {"kind": "ResourceClaim", "metadata": metadata, "status": status}


def test_the_devices_of_a_claim_are_those_of_its_allocation() -> None:
    claim = allocated(("left", "x"), ("right/fast", "y"))
    assert devices_of(claim) == [Device("d", "p", "x"), Device("d", "p", "y")]
    assert devices_of(claim, "left") == [Device("d", "p", "x")]
    assert devices_of(claim, "right") == [Device("d", "p", "y")], "a subrequest belongs to its request"
    assert devices_of(claim, "other") == []


@pytest.mark.parametrize("claim", [{}, {"status": None}, {"status": {}}, {"status": {"allocation": {}}}])
def test_a_claim_without_an_allocation_has_no_device(claim: Object) -> None:
    assert devices_of(claim) == []


UP: Object = {
    "metadata": {"name": "p"},
    "status": {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}, {"state": {"running": {}}}]},
}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (UP, True),
        ({**UP, "metadata": {"deletionTimestamp": "2026"}}, False),
        ({**UP, "status": {**UP["status"], "phase": "Pending"}}, False),
        ({**UP, "status": {"phase": "Running", "containerStatuses": [{"state": {"waiting": {}}}]}}, False),
        ({**UP, "status": {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}, {}]}}, False),
        ({**UP, "status": {"phase": "Running"}}, False),
        ({"metadata": {}}, False),
    ],
    ids=["up", "leaving", "pending", "a container waits", "a container has no state", "no container", "new"],
)
def test_a_pod_runs_when_all_its_containers_do_and_it_is_not_leaving(pod: Object, expected: bool) -> None:
    assert runs(pod) is expected


def test_claims_and_templates_ask_for_one_device_per_request() -> None:
    kube = Shelf()
    workloads(kube).claim("c")
    workloads(kube).template("t", requests=("left", "right"))
    claim, template = kube.created
    exactly = {"deviceClassName": "d-1a2b3c.fake.dra"}
    assert claim["spec"] == {"devices": {"requests": [{"name": "device", "exactly": exactly}]}}
    requests = template["spec"]["spec"]["devices"]["requests"]
    assert requests == [{"name": "left", "exactly": exactly}, {"name": "right", "exactly": exactly}]
    for item in kube.created:
        assert item["apiVersion"] == "resource.k8s.io/v1"
        assert item["metadata"]["namespace"] == "dra-1a2b3c"
        assert item["metadata"]["labels"] == {RUN_LABEL: "run-1", "dra-conformance/workload": "1a2b3c"}


def test_claims_ask_for_what_the_manifest_says_in_the_words_of_the_api() -> None:
    kube = Shelf()
    made = workloads(kube)
    claim = Claim.model_validate(
        {
            "deviceClassName": "gpu",
            "count": 2,
            "capacity": {"memory": "1Gi"},
            "selectors": ["device.attributes['x'].fast"],
            "tolerations": [{"key": "k", "operator": "Exists"}],
            "config": [{"apiVersion": "gpu/v1", "kind": "Sharing"}],
        }
    )
    manifest = made.instance.manifest.model_copy(update={"claim": claim})
    replace(made, instance=replace(made.instance, manifest=manifest)).claim("c")
    devices = kube.created[0]["spec"]["devices"]
    assert devices["requests"][0]["exactly"] == {
        "deviceClassName": "gpu",
        "count": 2,
        "capacity": {"requests": {"memory": "1Gi"}},
        "selectors": [{"cel": {"expression": "device.attributes['x'].fast"}}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    }
    assert devices["config"] == [
        {"opaque": {"driver": "d-1a2b3c.fake.dra", "parameters": {"apiVersion": "gpu/v1", "kind": "Sharing"}}}
    ]


def test_a_pod_uses_all_its_claims_in_one_container() -> None:
    kube = Shelf()
    workloads(kube).pod("p", templates={"a": "single"}, claims={"b": "shared"}, node="n")
    spec = kube.created[0]["spec"]
    assert spec["resourceClaims"] == [
        {"name": "a", "resourceClaimTemplateName": "single"},
        {"name": "b", "resourceClaimName": "shared"},
    ]
    assert [c["resources"]["claims"] for c in spec["containers"]] == [[{"name": "a"}, {"name": "b"}]]
    assert spec["affinity"] == {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": only("n")}}
    assert spec["securityContext"]["runAsNonRoot"] is True


def test_a_pod_takes_its_image_from_the_registry_of_the_run() -> None:
    shelf = Shelf()
    made = workloads(shelf)
    mirrored = replace(made, instance=replace(made.instance, registry="registry.example.com"))
    mirrored.pod("p")
    (pod,) = shelf.created
    assert pod["spec"]["containers"][0]["image"] == "registry.example.com/dra-conformance/busybox:1"


def test_each_container_uses_what_it_is_given() -> None:
    kube = Shelf()
    workloads(kube).pod("p", templates={"a": "pair"}, containers={"left": ["a/left"], "neither": []}, linger=6)
    left, neither = kube.created[0]["spec"]["containers"]
    assert left["resources"]["claims"] == [{"name": "a", "request": "left"}]
    assert neither["resources"]["claims"] == []
    assert kube.created[0]["spec"]["terminationGracePeriodSeconds"] > 6
    assert "sleep 6" in left["command"][-1]
    assert "affinity" not in kube.created[0]["spec"]


def test_a_pod_asks_for_an_extended_resource_and_may_end_by_itself() -> None:
    shelf = Shelf()
    workloads(shelf).pod("extended", extended="example.com/device")
    workloads(shelf).pod("short", lasts=3)
    extended, short = (pod["spec"] for pod in shelf.created)
    assert extended["containers"][0]["resources"] == {"claims": [], "limits": {"example.com/device": "1"}}
    assert "restartPolicy" not in extended
    assert short["restartPolicy"] == "Never"
    assert short["containers"][0]["command"][-1].endswith("; sleep 3")
    assert "limits" not in short["containers"][0]["resources"]


def test_a_pod_that_fills_a_node_has_as_many_claims_as_that_can_hold() -> None:
    kube = Shelf()
    workloads(kube).within(Room({"n": 3})).fill("p", "n")
    named = kube.created[0]["spec"]["resourceClaims"]
    assert [claim["name"] for claim in named] == ["device-0", "device-1", "device-2"]
    assert {claim["resourceClaimTemplateName"] for claim in named} == {"single"}


def test_the_claims_of_a_pod_come_by_the_names_that_it_gives_them() -> None:
    made, shared = allocated(("device", "x")), {"kind": "ResourceClaim", "metadata": {"name": "shared"}}
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"resourceClaims": [{"name": "a"}, {"name": "b", "resourceClaimName": "shared"}, {"name": "none"}]},
        "status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "c"}]},
    }
    assert workloads(Shelf(pod, made, shared)).claims_of("p") == {"a": made, "b": shared}


def test_a_pod_tolerates_the_taints_of_the_nodes_that_checks_run_on() -> None:
    kube = Shelf()
    replace(workloads(kube), tolerations=[{"key": "gpu", "operator": "Exists"}]).pod("p")
    assert kube.created[0]["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


def slice_on(node: str, driver: str = "d") -> Object:
    spec = {"driver": driver, "nodeName": node, "pool": {"name": f"p-{node}"}}
    return {"kind": "ResourceSlice", "metadata": {"name": f"s-{node}"}, "spec": spec}


def claim_in(namespace: str, pool: str, driver: str = "d", **result: Any) -> Object:
    results = [{"request": "device", "driver": driver, "pool": pool, "device": "x", **result}]
    status = {"allocation": {"devices": {"results": results}}}
    return {"kind": "ResourceClaim", "metadata": {"name": "c", "namespace": namespace}, "status": status}


def of_run(claim: Object, run: str) -> Object:
    return {**claim, "metadata": {**claim["metadata"], "labels": {RUN_LABEL: run}}}


@pytest.mark.parametrize(
    ("claim", "theirs"),
    [
        (claim_in("web", "p-n"), True),
        (claim_in("web", "p-elsewhere"), False),
        (claim_in("web", "p-n", driver="other"), False),
        (claim_in("web", "p-n", adminAccess=True), False),
        (of_run(claim_in("web", "p-n"), "another-run"), True),
        (of_run(claim_in("web", "p-n"), "run-1"), False),
    ],
)
@pytest.mark.parametrize("fixed", [True, False])
def test_devices_of_a_driver_of_others_are_left_to_those_who_hold_them(
    claim: Object, theirs: bool, fixed: bool
) -> None:
    kube = Shelf(slice_on("n"), claim)
    made = workloads(kube).within(Room({"n": 1}))
    manifest = made.instance.manifest.model_copy(update={"name": "d" if fixed else "d{id}"})
    made = replace(made, instance=replace(made.instance, manifest=manifest))
    if theirs and fixed:
        with pytest.raises(
            OtherOutcome, match="inconclusive: claims that are not of this run hold devices of n: web/c"
        ):
            made.fill("p", "n")
        assert kube.created == []
    else:
        made.fill("p", "n")


@pytest.mark.parametrize(
    ("claims", "observed"),
    [
        ([], "the claim is gone"),
        ([{"kind": "ResourceClaim", "metadata": {"name": "c", "uid": "u"}}], "c not allocated not reserved"),
        ([allocated(("device", "x"))], "c allocated not reserved"),
    ],
)
def test_a_claim_that_was_let_go_is_not_still_reserved(claims: list[Object], observed: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        workloads(Shelf(*claims)).still_reserved("u")
    assert caught.value.observed == observed


def test_a_claim_that_is_held_is_still_reserved() -> None:
    workloads(Shelf(allocated(("device", "x"), reservedFor=[{"uid": "p"}]))).still_reserved("u")


def test_failed_prepares_are_told_apart_by_whether_the_driver_was_asked(memory: Memory) -> None:
    asked = "Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim c: no"
    unread = (
        "Failed to prepare dynamic resources: prepare dynamic resources: fetch ResourceClaim dra-1a2b3c/c: forbidden"
    )
    reason, space = "FailedPrepareDynamicResources", "dra-1a2b3c"
    told = [
        ("1", "fails", reason, space, asked),
        ("2", "unlucky", reason, space, unread),
        ("3", "both", reason, space, asked),
        ("4", "both", reason, space, unread),
        ("5", "other", "FailedMount", space, asked),
        ("6", "elsewhere", reason, "another", asked),
    ]
    for name, pod, why, where, message in told:
        metadata = {"name": name, "namespace": where}
        event = {"kind": "Event", "metadata": metadata, "reason": why, "message": message}
        memory.put({**event, "involvedObject": {"name": pod}})
    failures = workloads(memory).failed_prepares()
    assert failures.by_driver == {"fails": asked, "both": asked}
    assert failures.others == {"unlucky": unread, "both": unread}
    assert failures.context == "left out, claim not readable by the kubelet: unlucky, both"


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        (['prepare resource claim: pod "ns/p": ResourceClaim not created yet'], OtherOutcome),
        (["Failed to prepare: prepare dynamic resources: fetch ResourceClaim ns/c: forbidden"], OtherOutcome),
        (["fetch ResourceClaim ns/c: forbidden", "NodePrepareResources failed: no"], CheckFailed),
        ([], CheckFailed),
    ],
)
def test_a_pod_that_waits_for_its_kubelet_and_not_for_the_driver_tells_nothing(
    memory: Memory, messages: list[str], error: type[Exception]
) -> None:
    made = replace(workloads(memory), timeouts=Timeouts(1e-9))
    made.pod("p")
    for number, message in enumerate(messages):
        event = {"kind": "Event", "metadata": {"name": f"e{number}", "namespace": "dra-1a2b3c"}, "message": message}
        memory.put({**event, "reason": "FailedPrepareDynamicResources", "involvedObject": {"name": "p"}})
    with pytest.raises(error):
        made.await_running("p")


def test_where_every_prepare_went_well_there_is_nothing_to_tell(memory: Memory) -> None:
    failures = workloads(memory).failed_prepares()
    assert (failures.by_driver, failures.others, failures.context) == ({}, {}, "")
