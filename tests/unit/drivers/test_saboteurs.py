"""The registry of saboteurs, and that each overlay plants what it says and nothing else."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from drivers.fake.faults import FAULTS
from drivers.fake.meddlers import DEEDS
from drivers.install import RUN_LABEL, Instance, render
from drivers.loading import load
from drivers.saboteurs import REGISTRY, Saboteur
from drivers.saboteurs.rbac import without_templates
from fixtures.check.collected import FILE
from fixtures.kube.kinds import KINDS
from reports.model import load_catalogue

Object = dict[str, Any]
Leaf = str | int | bool | float | None


def rendered(saboteur: Saboteur | None = None) -> list[Object]:
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={"devices": "true"})
    return render(instance, saboteur.overlay if saboteur else None)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Leaf]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}.{index}")
    else:
        yield path, value


def by_name(objects: list[Object]) -> dict[str, Object]:
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in objects}


def difference(saboteur: str) -> tuple[dict[str, Object], dict[str, Leaf], dict[str, Leaf]]:
    """What a saboteur's overlay adds: objects, and the leaves of other objects that it takes away and puts in."""
    before, after = by_name(rendered()), by_name(rendered(REGISTRY[saboteur]))
    added = {name: after.pop(name) for name in list(after) if name not in before}
    assert before.keys() == after.keys()
    was, now = dict(leaves(before)), dict(leaves(after))
    return (
        added,
        {path: value for path, value in was.items() if now.get(path) != value},
        {path: value for path, value in now.items() if was.get(path) != value},
    )


SETS = ("driver-1a2b3c", "driver-1a2b3c-old-kubelets")
PODS = tuple(f".DaemonSet/{name}.spec.template.spec" for name in SETS)
ROLLING = ".DaemonSet/driver-1a2b3c.spec.updateStrategy.rollingUpdate"
OLD_ROLLING = ".DaemonSet/driver-1a2b3c-old-kubelets.spec.updateStrategy.rollingUpdate"


def test_the_wrong_selector_loses_the_selector_and_nothing_else() -> None:
    assert difference("wrong-selector") == ({}, {f"{pod}.nodeSelector.devices": "true" for pod in PODS}, {})


def test_no_surge_only_turns_the_overlap_round() -> None:
    assert difference("no-surge") == (
        {},
        {f"{ROLLING}.maxSurge": 1, f"{ROLLING}.maxUnavailable": 0},
        {f"{ROLLING}.maxSurge": 0, f"{ROLLING}.maxUnavailable": 1},
    )


def test_all_at_once_takes_the_driver_off_every_node() -> None:
    assert difference("all-at-once") == (
        {},
        {f"{ROLLING}.maxSurge": 1, f"{ROLLING}.maxUnavailable": 0, f"{OLD_ROLLING}.maxUnavailable": 1},
        {f"{ROLLING}.maxSurge": 0, f"{ROLLING}.maxUnavailable": "100%", f"{OLD_ROLLING}.maxUnavailable": "100%"},
    )


@pytest.mark.parametrize("faults", [(), ("keeps-cdi",)])
def test_fixed_sockets_keep_the_surge_and_lose_the_pod_uid(faults: tuple[str, ...]) -> None:
    instance = Instance(
        load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={"devices": "true"}, faults=faults
    )
    (driver,) = [
        item
        for item in render(instance, REGISTRY["fixed-sockets"].overlay)
        if item["metadata"]["name"] == "driver-1a2b3c" and item["kind"] == "DaemonSet"
    ]
    assert driver["spec"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    variables = {v["name"]: v.get("value") for v in driver["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert "POD_UID" not in variables
    assert variables["SEAMLESS"] == "false"
    assert variables["FAULTS"] == ",".join([*faults, "fixed-sockets", "always-serving"])


def test_no_probe_only_takes_the_liveness_probe() -> None:
    added, gone, new = difference("no-probe")
    assert (added, new) == ({}, {})
    assert gone
    assert all(path.startswith(tuple(f"{pod}.containers.0.livenessProbe." for pod in PODS)) for path in gone)


PROBES = tuple(f"{pod}.containers.0.livenessProbe" for pod in PODS)


def of_each_probe(**values: Leaf) -> dict[str, Leaf]:
    return {f"{probe}.{key.replace('_', '.')}": value for probe in PROBES for key, value in values.items()}


def test_the_wrong_port_is_asked_seldom() -> None:
    gone, new = of_each_probe(grpc_port=8081, periodSeconds=5), of_each_probe(grpc_port=9999, periodSeconds=60)
    assert difference("wrong-port") == ({}, gone, new)


def test_a_health_service_that_is_off_is_still_asked() -> None:
    added, gone, new = difference("health-switched-off")
    assert added == {}
    assert {path for path in gone if ".startupProbe." not in path} == of_each_probe(periodSeconds=5).keys()
    variables = {path: new.pop(path) for path in list(new) if ".env." in path}
    assert list(variables.values()) == ["HEALTH_PORT", "-1"] * len(PODS)
    assert new == of_each_probe(periodSeconds=60)


def test_a_probe_that_is_too_tight_asks_the_right_port() -> None:
    added, gone, new = difference("probe-too-tight")
    assert added == {}
    assert gone == of_each_probe(periodSeconds=5, timeoutSeconds=5, failureThreshold=3)
    assert new == of_each_probe(periodSeconds=3, timeoutSeconds=2, failureThreshold=2)


def test_a_second_installation_is_the_first_under_another_name() -> None:
    added, gone, new = difference("second-installation")
    assert (gone, new) == ({}, {})
    assert list(added) == [f"DaemonSet/{name}-old" for name in SETS]
    for name in SETS:
        old, driver = added[f"DaemonSet/{name}-old"], by_name(rendered())[f"DaemonSet/{name}"]
        changed = {path: value for path, value in leaves(old) if dict(leaves(driver))[path] != value}
        assert changed == {
            ".metadata.name": f"{name}-old",
            ".spec.selector.matchLabels.app": f"{name}-old",
            ".spec.template.metadata.labels.app": f"{name}-old",
        }


def verbs_by_resource(rules: list[Object]) -> dict[str, set[str]]:
    verbs: dict[str, set[str]] = {}
    for rule in rules:
        for resource in rule["resources"]:
            verbs.setdefault(resource, set()).update(rule["verbs"])
    return verbs


@pytest.mark.parametrize(
    ("saboteur", "deed", "rights"),
    [
        (
            "force-deletes-terminating",
            "force-delete",
            {"nodes": {"list"}, "pods": {"list", "watch", "delete"}},
        ),
        (
            "removes-driver-on-cordon",
            "remove-on-cordon",
            {"nodes": {"list"}, "pods": {"list"}, "daemonsets": {"patch"}},
        ),
        (
            "force-deletes-on-cordon",
            "force-delete-on-cordon",
            {"nodes": {"list"}, "pods": {"list", "delete"}},
        ),
        ("keeps-labels", "keep-labels", {"nodes": {"list", "patch"}, "pods": {"list"}}),
    ],
)
def test_a_meddler_comes_beside_an_unchanged_driver(saboteur: str, deed: str, rights: dict[str, set[str]]) -> None:
    added, gone, new = difference(saboteur)
    assert (gone, new) == ({}, {})
    name = "driver-1a2b3c-meddler"
    assert set(added) == {
        f"{kind}/{name}" for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment")
    }
    rules = added[f"ClusterRole/{name}"]["rules"]
    assert verbs_by_resource(rules) == rights
    deployment = added[f"Deployment/{name}"]["spec"]
    assert deployment["selector"]["matchLabels"].items() <= deployment["template"]["metadata"]["labels"].items()
    spec = deployment["template"]["spec"]
    assert spec["serviceAccountName"] == name
    command, selector = spec["containers"][0]["command"], '{"devices": "true"}'
    assert command == ["python3", "-m", "drivers.fake.meddlers", deed, "dra-1a2b3c", "driver-1a2b3c", selector]
    volumes, mounts = spec["volumes"], spec["containers"][0]["volumeMounts"]
    assert [volume["name"] for volume in volumes] == [mount["name"] for mount in mounts] == ["code"]
    subject = added[f"ClusterRoleBinding/{name}"]["subjects"][0]
    assert subject == {"kind": "ServiceAccount", "name": name, "namespace": "dra-1a2b3c"}


@pytest.mark.parametrize(
    ("saboteur", "deed", "writes"),
    [
        ("evicts-without-driver", "evict-without-driver", {"pods": {"delete"}}),
        (
            "frees-stuck-claims",
            "free-claims",
            {"resourceclaims/status": {"patch"}, "resourceclaims/binding": {"patch"}},
        ),
        ("strips-finalizers", "strip-finalizers", {"resourceclaims": {"delete", "patch"}}),
    ],
)
def test_a_meddler_with_claims_may_read_pods_and_do_its_deed(
    saboteur: str, deed: str, writes: dict[str, set[str]]
) -> None:
    added, gone, new = difference(saboteur)
    assert (gone, new) == ({}, {})
    container = added["Deployment/driver-1a2b3c-meddler"]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][3] == deed
    assert deed in DEEDS
    rights = verbs_by_resource(added["ClusterRole/driver-1a2b3c-meddler"]["rules"])
    reads = {"nodes": {"list"}, "pods": {"list"}}
    assert rights == {name: reads.get(name, set()) | writes.get(name, set()) for name in {*reads, *writes}}


def test_a_surge_everywhere_overlaps_on_old_kubelets_too() -> None:
    added, gone, new = difference("surges-everywhere")
    assert added == {}
    assert (gone.pop(f"{OLD_ROLLING}.maxSurge"), new.pop(f"{OLD_ROLLING}.maxSurge")) == (0, 1)
    assert (gone.pop(f"{OLD_ROLLING}.maxUnavailable"), new.pop(f"{OLD_ROLLING}.maxUnavailable")) == (1, 0)
    assert [*gone.values()] == ["false"], "SEAMLESS"
    assert [*new.values()] == ["true"]
    assert gone.keys() == new.keys()
    assert all(path.startswith(PODS[1]) for path in gone)


@pytest.mark.parametrize("saboteur", [s for s in REGISTRY.values() if s.overlay], ids=lambda s: s.id)
def test_all_objects_of_a_package_saboteur_are_of_known_kinds_and_labelled(saboteur: Saboteur) -> None:
    objects = rendered(saboteur)
    assert len(by_name(objects)) == len(objects)
    for item in objects:
        assert KINDS[item["kind"]][2] == ("namespace" in item["metadata"])
        assert item["metadata"]["labels"][RUN_LABEL] == "run-1"


def test_taking_templates_out_of_a_role_leaves_its_other_resources() -> None:
    role = {
        "rules": [
            {"resources": ["resourceclaims", "resourceclaimtemplates"], "verbs": ["get"]},
            {"resources": ["resourceclaimtemplates"], "verbs": ["create"]},
            {"resources": ["pods"], "verbs": ["get"]},
        ]
    }
    assert without_templates(copy.deepcopy(role)) == {
        "rules": [{"resources": ["resourceclaims"], "verbs": ["get"]}, {"resources": ["pods"], "verbs": ["get"]}]
    }


@pytest.mark.parametrize(
    ("saboteur", "subject", "resource"),
    [
        ("everyone-writes-deviceclasses", "system:authenticated", "deviceclasses"),
        ("service-accounts-write-slices", "system:serviceaccounts", "resourceslices"),
        ("service-accounts-write-taint-rules", "system:serviceaccounts", "devicetaintrules"),
        ("team-writes-deviceclasses", "hardware-team", "deviceclasses"),
        ("nodes-write-slices", "system:nodes", "resourceslices"),
        ("everything-for-a-robot", "deployer", "*"),
    ],
)
def test_a_stray_binding_gives_its_own_role_to_its_subject(saboteur: str, subject: str, resource: str) -> None:
    role, binding = REGISTRY[saboteur].objects
    assert (role["kind"], binding["kind"]) == ("ClusterRole", "ClusterRoleBinding")
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == ("ClusterRole", role["metadata"]["name"])
    assert [s["name"] for s in binding["subjects"]] == [subject]
    assert role["rules"][0]["resources"] == [resource]
    assert {"create", "patch", "*"} & set(role["rules"][0]["verbs"])


@pytest.mark.parametrize(
    ("saboteur", "gone", "new"),
    [
        ("driver-cannot-delete-slices", {"delete"}, set()),
        ("driver-on-arbitrary-nodes", set(), {"arbitrary-node:update", "arbitrary-node:patch"}),
        ("driver-in-any-name", {"d-1a2b3c.fake.dra"}, set()),
        (
            "driver-status-as-before",
            {"resourceclaims/driver", "associated-node:update", "associated-node:patch", "d-1a2b3c.fake.dra"},
            set(),
        ),
        ("node-policy-for-new-slices", {"UPDATE", "DELETE"}, set()),
        ("node-policy-only-audits", {"Deny"}, {"Audit"}),
    ],
)
def test_a_driver_has_just_a_word_too_many_or_too_few(saboteur: str, gone: set[Leaf], new: set[Leaf]) -> None:
    before, after = rendered(), rendered(REGISTRY[saboteur])
    assert by_name(before).keys() == by_name(after).keys()
    was, now = ({value for _, value in leaves(by_name(items))} for items in (before, after))
    counted = [value for _, value in leaves(by_name(before))]
    for _, value in leaves(by_name(after)):
        if value in counted:
            counted.remove(value)
    assert gone <= set(counted)
    assert now - was == new


def test_a_policy_for_another_account_is_still_an_expression() -> None:
    _, gone, new = difference("node-policy-for-another-account")
    ((path, expression),) = new.items()
    assert list(gone) == [path]
    assert expression == 'request.userInfo.username == "system:serviceaccount:dra-1a2b3c:driver-1a2b3c-kubelet-plugin"'


def test_a_driver_without_a_policy_has_all_else() -> None:
    before, after = by_name(rendered()), by_name(rendered(REGISTRY["no-node-policy"]))
    assert {name.partition("/")[0] for name in before.keys() - after.keys()} == {
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }


def test_a_driver_that_is_cluster_admin_has_one_binding_more() -> None:
    added, gone, new = difference("driver-is-cluster-admin")
    assert (gone, new) == ({}, {})
    ((_, binding),) = added.items()
    assert binding["roleRef"]["name"] == "cluster-admin"
    assert binding["subjects"][0]["name"] == "driver-1a2b3c"


@pytest.mark.parametrize("saboteur", REGISTRY.values(), ids=REGISTRY)
def test_a_saboteur_has_exactly_what_its_layer_plants(saboteur: Saboteur, catalogue: set[str]) -> None:
    assert bool(saboteur.faults) == (saboteur.layer == "driver")
    assert bool(saboteur.overlay or saboteur.unit) == (saboteur.layer == "package")
    assert bool(saboteur.objects or saboteur.edits or saboteur.flags) == (saboteur.layer == "cluster")
    assert set(saboteur.faults) <= FAULTS.keys()
    assert saboteur.plants
    assert saboteur.breaks
    assert set(saboteur.breaks) <= catalogue
    assert len(set(saboteur.breaks)) == len(saboteur.breaks)


@pytest.fixture(scope="module")
def catalogue() -> set[str]:
    return {entry.id for entry in load_catalogue(FILE)}


def test_saboteur_ids_are_words_with_hyphens_and_unique() -> None:
    assert all(part.isalnum() and part.islower() for name in REGISTRY for part in name.split("-"))
    assert [saboteur.id for saboteur in REGISTRY.values()] == list(REGISTRY)


def run_module(*arguments: str) -> str:
    command = [sys.executable, "-m", "drivers.saboteurs", *arguments]
    return subprocess.run(command, cwd=FILE.parents[1], capture_output=True, text=True, check=True).stdout


def test_machines_can_read_the_list() -> None:
    rows = json.loads(run_module("--json"))
    assert [row["id"] for row in rows] == list(REGISTRY)
    assert all(row.keys() == {"id", "layer", "plants", "breaks"} for row in rows)
    assert {row["layer"] for row in rows} == {"driver", "package", "cluster"}


def test_people_can_read_the_list() -> None:
    text = run_module()
    for saboteur in REGISTRY.values():
        assert f"{saboteur.id}  ({saboteur.layer})\n    plants: {saboteur.plants}\n    breaks: " in text
