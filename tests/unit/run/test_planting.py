"""A saboteur of the cluster: planted for a while, under the whole cluster's lock, and gone without a trace."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import RUN_LABEL
from drivers.saboteurs import REGISTRY, Saboteur
from fixtures.check.outcomes import CheckFailed
from fixtures.run import planting
from fixtures.run.planting import planted

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
OF_THE_CLUSTER = [pytest.param(s, id=s.id) for s in REGISTRY.values() if s.layer == "cluster"]
EDIT = "edit"
LABEL = "rbac.authorization.k8s.io/aggregate-to-"
CHAIN = ("view", EDIT, "admin")


def source(name: str, *verbs: str) -> Object:
    rules = [{"resources": ["resourceclaims", "resourceclaimtemplates"], "verbs": list(verbs)}]
    metadata = {"name": f"system:aggregate-to-{name}", "labels": {f"{LABEL}{name}": "true"}}
    return {"kind": "ClusterRole", "metadata": metadata, "rules": rules}


def state(memory: Memory) -> dict[str, Object]:
    """What is in the cluster, without what each write changes."""
    return {
        f"{item['kind']}/{item['metadata']['name']}": {
            **item,
            "metadata": {
                k: v for k, v in item["metadata"].items() if k not in ("resourceVersion", "generation", "uid")
            },
        }
        for item in memory.objects.values()
    }


@pytest.fixture
def cluster(memory: Memory) -> Memory:
    """A cluster whose controller manager aggregates roles, as soon as somebody waits for it."""
    memory.put(source("view", "get"))
    memory.put(source("edit", "create"))
    _aggregate(memory)
    memory.later = [lambda: _aggregate(memory)] * 2
    return memory


def _aggregate(memory: Memory) -> None:
    rules: list[Object] = []
    for name in CHAIN:
        roles = [item for item in memory.objects.values() if f"{LABEL}{name}" in item["metadata"].get("labels", {})]
        rules = rules + [rule for role in roles for rule in role["rules"]]
        memory.put({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})


@pytest.mark.parametrize("saboteur", OF_THE_CLUSTER)
def test_a_saboteur_is_there_for_a_while_and_then_never_was(
    cluster: Memory, saboteur: Saboteur, tmp_path: Path
) -> None:
    before = state(cluster)
    with planted(cluster, saboteur, "run-1", tmp_path):
        during = state(cluster)
        for item in saboteur.objects:
            planted_item = during[f"{item['kind']}/{item['metadata']['name']}"]
            assert planted_item["metadata"]["labels"][RUN_LABEL] == "run-1"
        for edit in saboteur.edits:
            assert during[f"{edit.kind}/{edit.name}"] != before[f"{edit.kind}/{edit.name}"]
    _aggregate(cluster)
    assert state(cluster) == before


@pytest.mark.parametrize("saboteur", OF_THE_CLUSTER)
def test_a_saboteur_is_taken_out_even_if_the_run_breaks(cluster: Memory, saboteur: Saboteur, tmp_path: Path) -> None:
    before = state(cluster)
    with pytest.raises(RuntimeError), planted(cluster, saboteur, "run-1", tmp_path):
        raise RuntimeError
    _aggregate(cluster)
    assert state(cluster) == before


def test_a_role_that_is_aggregated_is_waited_for(cluster: Memory, tmp_path: Path) -> None:
    assert source(EDIT, "create")["rules"][0] in cluster.get("ClusterRole", EDIT)["rules"]
    with planted(cluster, REGISTRY["edit-without-templates"], "run-1", tmp_path):
        assert {"resources": ["resourceclaims"], "verbs": ["create"]} in cluster.get("ClusterRole", EDIT)["rules"]
        assert source(EDIT, "create")["rules"][0] not in cluster.get("ClusterRole", EDIT)["rules"]


def test_a_saboteur_that_does_not_take_effect_is_taken_out_again(
    cluster: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planting, "_SETTLE", 0)
    before = state(cluster)
    cluster.later = []
    with pytest.raises(CheckFailed), planted(cluster, REGISTRY["edit-without-templates"], "run-1", tmp_path):
        raise AssertionError("it took effect")
    assert state(cluster) == before


@pytest.mark.parametrize(("saboteur", "roles"), [("view-writes-claims", CHAIN), ("edit-writes-namespaces", CHAIN[1:])])
def test_every_role_is_waited_for_that_has_what_is_planted(
    cluster: Memory, tmp_path: Path, saboteur: str, roles: tuple[str, ...]
) -> None:
    before = {name: cluster.get("ClusterRole", name)["rules"] for name in CHAIN}
    with planted(cluster, REGISTRY[saboteur], "run-1", tmp_path):
        after = {name: cluster.get("ClusterRole", name)["rules"] for name in CHAIN}
    assert tuple(name for name in CHAIN if before[name] != after[name]) == roles


def test_what_lies_in_a_namespace_goes_before_it(cluster: Memory, tmp_path: Path) -> None:
    with planted(cluster, REGISTRY["tenant-owns-namespace"], "run-1", tmp_path):
        assert cluster.get("Role", "careless-owner", "careless-tenant")
    deeds = [deed for deed in cluster.done if "careless" in deed]
    assert [deed.split()[1] for deed in deeds] == [
        *("Namespace/careless-tenant", "Role/careless-owner", "RoleBinding/careless-owner"),
        *("RoleBinding/careless-owner", "Role/careless-owner", "Namespace/careless-tenant"),
    ]


@pytest.mark.parametrize(
    "saboteur", [None, REGISTRY["keeps-cdi"], REGISTRY["no-probe"]], ids=["none", "driver", "package"]
)
def test_other_saboteurs_need_nothing_of_the_cluster(memory: Memory, saboteur: Saboteur | None, tmp_path: Path) -> None:
    with planted(memory, saboteur, "run-1", tmp_path):
        assert memory.done == []
    assert list(tmp_path.iterdir()) == []


def test_the_cluster_is_locked_meanwhile(cluster: Memory, tmp_path: Path) -> None:
    def ask() -> None:
        with (tmp_path / "locks" / "cluster").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)

    with planted(cluster, REGISTRY["service-accounts-write-slices"], "run-1", tmp_path), pytest.raises(BlockingIOError):
        ask()
    ask()
