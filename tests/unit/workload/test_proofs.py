"""What a container sees of devices, what it should see, and what a container without a claim tells of both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from drivers.manifest import Proof
from fixtures.check.outcomes import OtherOutcome
from fixtures.workload.control import control_on, has_room_for_another
from fixtures.workload.proofs import looked_for, proofs_of, proofs_of_all, same_for_all, seen_devices
from fixtures.workload.room import Room
from fixtures.workload.workloads import Workloads
from tests.unit.workload.test_workloads import Shelf, workloads

Object = dict[str, Any]
DRIVER = "d-1a2b3c.fake.dra"
ENV = {"env": "X_.*", "value": "{driver}/{pool}/{device}"}


def pool(node: str, *devices: Object, generation: int = 1) -> Object:
    spec = {"driver": DRIVER, "nodeName": node, "pool": {"name": f"p-{node}", "generation": generation}}
    return {"kind": "ResourceSlice", "metadata": {"name": node}, "spec": {**spec, "devices": list(devices)}}


def device(name: str, **attributes: Object) -> Object:
    return {"name": name, "attributes": attributes}


ON_N = pool(
    "n",
    device("x", minor={"int": 0}, model={"string": "m"}, uses={"bool": True}),
    device("y", minor={"int": 1}, model={"string": "m"}, uses={"bool": True}),
)
CLAIM = {
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "uid": "u-1"},
    "status": {
        "allocation": {
            "devices": {
                "results": [
                    {"request": "left", "driver": DRIVER, "pool": "p-n", "device": "x"},
                    {"request": "right", "driver": DRIVER, "pool": "p-n", "device": "y"},
                ]
            }
        }
    },
}


def log(**findings: list[str]) -> str:
    """What a container writes; what is left out is as in a plain one."""
    base = {
        "environment": ["PATH=/bin"],
        "files": ["/dev/null|character special file|1:3"],
        "mounts": [],
        "links": ["lo 0"],
        "cpus": ["Cpus_allowed_list: 0-1"],
    }
    lines = [line for head, found in {**base, **findings}.items() for line in (f"[{head}]", *found)]
    return "".join(f"2026Z {line}\n" for line in [*lines, "findings-end-here"])


class Logs(Shelf):
    """Logs by pod; others are as a plain one's."""

    def __init__(self, *objects: Object, **by_pod: str) -> None:
        super().__init__(*objects)
        self.by_pod = by_pod

    def logs(self, pod: str, *_: Any, **__: Any) -> str:
        return self.by_pod.get(pod, log(proof=[]))


def at(kube: Shelf, proof: Object | None, **claim: Any) -> Workloads:
    made = workloads(kube)
    changes = {
        "proof": proof and Proof.model_validate(proof),
        "claim": made.instance.manifest.claim.model_copy(update=claim),
    }
    return replace(made, instance=replace(made.instance, manifest=made.instance.manifest.model_copy(update=changes)))


@pytest.mark.parametrize(
    ("proof", "found", "sees"),
    [
        (ENV, {"environment": ["X_1=a", "X_2=b", "NOT_X_1=c"]}, {"a", "b"}),
        (
            {"path": "/dev/d{device}/x"},
            {"proof": ["/dev/d0/x", "/dev/d1/x", "/dev/d/x", "/dev/d1/y/x"]},
            {"/dev/d0/x", "/dev/d1/x"},
        ),
        ({"command": ["x"], "output": "{device}"}, {"proof": [" 0-3 ", "", "4"], "ended": ["1"]}, {"0-3", "4"}),
        (
            None,
            {"environment": ["X=1", "HOSTNAME=p"]},
            {"variable X=1", "file /dev/null=character special file 1:3", "link lo=0", "CPUs=0-1"},
        ),
    ],
)
def test_a_container_sees_what_the_proof_is_about(proof: Object | None, found: Any, sees: set[str]) -> None:
    assert seen_devices(at(Logs(p=log(**found)), proof), "p") == sees


@pytest.mark.parametrize(
    ("template", "left", "all_of_them"),
    [
        ("{driver}/{pool}/{device}", f"{DRIVER}/p-n/x", {f"{DRIVER}/p-n/x", f"{DRIVER}/p-n/y"}),
        ("card{attributes[minor]}", "card0", {"card0", "card1"}),
        (f"card{{attributes[{DRIVER}/minor]}}", "card0", {"card0", "card1"}),
        ("{attributes[uses]} {attributes[model]}", "true m", {"true m"}),
        ("{claim}", "u-1", {"u-1"}),
    ],
)
def test_what_should_be_seen_follows_from_allocation_and_attributes(
    template: str, left: str, all_of_them: set[str]
) -> None:
    made = at(Shelf(ON_N, CLAIM), {"env": "X", "value": template})
    assert proofs_of(made, CLAIM, "left") == {left}
    assert proofs_of(made, CLAIM, "neither") == set()
    assert proofs_of(made, CLAIM) == proofs_of_all(made, CLAIM) == all_of_them


def test_attributes_of_another_domain_are_named_with_it() -> None:
    spec = pool(
        "n", {"name": "x", "attributes": {"example.com/minor": {"int": 4}, f"{DRIVER}/own": {"version": "1.2.3"}}}
    )
    made = at(Shelf(spec), {"env": "X", "value": "{attributes[example.com/minor]} {attributes[own]}"})
    assert proofs_of(made, CLAIM, "left") == {"4 1.2.3"}


def test_an_attribute_that_a_device_lacks_is_told_with_those_that_it_has() -> None:
    made = at(
        Shelf(pool("n", device("x", minor={"int": 0}), device("y"))), {"env": "X", "value": "{attributes[miner]}"}
    )
    with pytest.raises(OtherOutcome, match=rf"attribute miner of {DRIVER}/p-n/x, which has: {DRIVER}/minor, minor"):
        proofs_of(made, CLAIM, "left")
    with pytest.raises(OtherOutcome, match="which has: none, or no slice lists it"):
        proofs_of(made, CLAIM, "right")
    assert proofs_of_all(made, CLAIM) == set(), "a device of another kind is not asked for what it has not"


def test_in_a_path_a_value_is_one_name() -> None:
    made = at(Shelf(pool("n", device("x", at={"string": "dri/card0"}))), {"path": "/dev/{attributes[at]}"})
    with pytest.raises(OtherOutcome, match=r"`proof.path` is /dev/dri/card0 for .*: what stands for a placeholder"):
        proofs_of(made, CLAIM, "left")


@pytest.mark.parametrize(
    ("template", "same"),
    [("{device}", ""), ("{attributes[minor]}", ""), ("{claim}", ""), ("{attributes[model]}", "m"), ("{pool}", "p-n")],
)
def test_a_text_that_is_the_same_for_all_devices_of_a_node_is_told(template: str, same: str) -> None:
    made = at(Shelf(ON_N, pool("other", device("z", model={"string": "m"}))), {"env": "X", "value": template})
    assert same_for_all(made, "n") == same
    assert same_for_all(made, "other") == "", "of one device it tells enough"


def test_what_counts_is_the_newest_generation() -> None:
    old = {**pool("n", device("gone")), "metadata": {"name": "old"}}
    made = at(Shelf(old, pool("n", device("x"), generation=2)), {"env": "X", "value": "{device}"})
    assert proofs_of_all(made, CLAIM) == {"x"}


def controlled(kube: Shelf, proof: Object | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Workloads, "await_running", lambda *_: {})
    return control_on(at(kube, proof), "n")


def test_two_plain_pods_on_the_node_are_what_is_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    kube = Logs(
        plain=log(environment=["TRACE=1"], proof=["/dev/null", "/dev/one"]),
        **{"plain-too": log(environment=["TRACE=2"], proof=["/dev/null"])},
        holder=log(
            environment=["TRACE=3"],
            links=["lo 0", "net1 1"],
            files=["/dev/null|character special file|1:3", "/dev/x|f|1:2"],
        ),
    )
    control = controlled(kube, {"path": "/dev/{device}"}, monkeypatch)
    assert [pod["metadata"]["name"] for pod in kube.created] == ["plain", "plain-too"]
    assert all("nodeAffinity" in pod["spec"]["affinity"] for pod in kube.created)
    assert control.seen == {"/dev/null", "/dev/one"}
    assert control.additions("plain") == set()
    assert control.additions("holder") == {"link net1=1", "file /dev/x=f 1:2"}
    assert control.additions_of_its_own("holder", "main") == {"file /dev/x=f 1:2"}


def test_a_hint_tells_what_was_looked_for_and_the_nearest_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    kube = Logs(holder=log(environment=["PATH=/bin", "GPU_0=a"], files=["/dev/gpu/0|c|1:3"], ended=["127"]))
    says = "by the claim the container has"
    assert controlled(kube, {"env": "GPU_._UUID", "value": "{device}"}, monkeypatch).hint("holder") == (
        f"looked for variables whose names match GPU_._UUID, ended with 127; {says}: "
        "variable GPU_0=a; file /dev/gpu/0=c 1:3; no file /dev/null"
    )
    control = controlled(kube, {"path": "/dev/gpus/{device}"}, monkeypatch)
    assert control.hint("holder").startswith(
        f"looked for paths like /dev/gpus/{{device}}, ended with 127; {says}: file /dev/g"
    )
    assert control.hint("plain").endswith(f"; {says}: nothing")


def test_what_is_looked_for_is_told_in_words() -> None:
    assert looked_for(Proof.model_validate({"command": ["sh", "-c", "a b"], "output": "x"})) == (
        "what `sh -c 'a b'` prints"
    )


@pytest.mark.parametrize(("rooms", "fits"), [({"n": 2}, True), ({"n": 1}, False), ({}, False)])
def test_a_second_claim_is_made_where_it_surely_fits(rooms: dict[str, int], fits: bool) -> None:
    assert has_room_for_another(at(Shelf(ON_N), None).within(Room(rooms)), "n") is fits
