"""The configuration of a kind cluster: nothing that a Kubernetes version does not know, nothing that is not needed."""

from typing import Any

import pytest
import yaml

from fixtures.cluster.handle import Role
from fixtures.cluster.kind.config import DEVICE_LABEL, ROOM_LABEL, SEAMLESS_LABEL, NodeSpec, kind_config
from fixtures.cluster.kind.topology import SCALE
from fixtures.cluster.node_image.versions import KUBERNETES_SERVED

ROLES: tuple[Role, ...] = ("control-plane", "worker", "spare")


def rendered(version: str, *, cgroup_v1: bool = False, sys_resource: bool = True) -> Any:
    plans = [NodeSpec(role, "node:1", version) for role in ROLES]
    return yaml.safe_load(kind_config(version, plans, cgroup_v1=cgroup_v1, sys_resource=sys_resource))


def mixed(*, cgroup_v1: bool = False, sys_resource: bool = True) -> Any:
    plans = [
        NodeSpec("control-plane", "node:1", "1.35.4"),
        NodeSpec("worker", "node:1", "1.35.4"),
        NodeSpec("worker", "node:old", "1.32.13"),
    ]
    return yaml.safe_load(kind_config("1.35.4", plans, cgroup_v1=cgroup_v1, sys_resource=sys_resource))


def kubelet_of(config: Any) -> Any:
    patches = [yaml.safe_load(patch) for patch in config.get("kubeadmConfigPatches", [])]
    return next((patch for patch in patches if patch["kind"] == "KubeletConfiguration"), None)


def test_nodes_follow_the_topology() -> None:
    assert [node["role"] for node in rendered("1.37.2")["nodes"]] == ["control-plane", "worker", "worker"]


def test_only_workers_are_labelled_for_devices() -> None:
    control_plane, worker, spare = rendered("1.37.2")["nodes"]
    assert "labels" not in control_plane
    assert worker["labels"] == {DEVICE_LABEL: "true", ROOM_LABEL: "common"}
    assert spare["labels"] == {DEVICE_LABEL: "true", ROOM_LABEL: "spare"}


@pytest.mark.parametrize("version", KUBERNETES_SERVED)
def test_kubelet_is_left_alone_on_an_ordinary_host(version: str) -> None:
    assert kubelet_of(rendered(version)) is None


@pytest.mark.parametrize(("version", "known"), [("1.34.4", False), ("1.35.4", True), ("1.37.2", True)])
def test_cgroup_v1_is_allowed_where_the_kubelet_would_refuse_it(version: str, known: bool) -> None:
    kubelet = kubelet_of(rendered(version, cgroup_v1=True))
    assert (kubelet or {}).get("failCgroupV1") == (False if known else None)


@pytest.mark.parametrize("version", KUBERNETES_SERVED)
def test_missing_capability_makes_a_kubelet_in_a_user_namespace(version: str) -> None:
    assert kubelet_of(rendered(version, sys_resource=False))["featureGates"] == {"KubeletInUserNamespace": True}


@pytest.mark.parametrize(
    ("version", "served"),
    [
        ("1.32.13", {"resource.k8s.io/v1beta1": "true"}),
        ("1.33.13", {"resource.k8s.io/v1beta1": "true", "resource.k8s.io/v1beta2": "true"}),
    ],
)
def test_dra_is_switched_on_where_it_is_not_by_default(version: str, served: dict[str, str]) -> None:
    config = rendered(version)
    assert config["featureGates"] == {"DynamicResourceAllocation": True}
    assert config["runtimeConfig"] == served


@pytest.mark.parametrize("version", ["1.34.4", "1.35.4", "1.36.3", "1.37.2"])
def test_locked_gates_are_not_touched(version: str) -> None:
    config = rendered(version)
    assert "featureGates" not in config
    assert "runtimeConfig" not in config


@pytest.mark.parametrize("version", ["1.33.13", "1.35.4"])
def test_control_plane_is_patched_with_arguments_as_maps(version: str) -> None:
    (patch,) = (yaml.safe_load(patch) for patch in rendered(version)["kubeadmConfigPatches"])
    assert patch["kind"] == "ClusterConfiguration"
    assert patch["controllerManager"] == patch["scheduler"] == {"extraArgs": {"bind-address": "0.0.0.0"}}
    assert patch["etcd"] == {"local": {"extraArgs": {"unsafe-no-fsync": "true"}}}


@pytest.mark.parametrize("version", ["1.36.3", "1.37.2"])
def test_control_plane_is_patched_with_arguments_as_lists(version: str) -> None:
    (patch,) = rendered(version)["kubeadmConfigPatchesJSON6902"]
    everywhere = {"name": "bind-address", "value": "0.0.0.0"}
    no_fsync = {"name": "unsafe-no-fsync", "value": "true"}
    assert yaml.safe_load(patch["patch"]) == [
        {"op": "add", "path": "/controllerManager/extraArgs/-", "value": everywhere},
        {"op": "add", "path": "/scheduler/extraArgs", "value": [everywhere]},
        {"op": "add", "path": "/etcd", "value": {"local": {"extraArgs": [no_fsync]}}},
    ]


@pytest.mark.parametrize("version", ["1.35.4", "1.37.2"])
def test_controller_manager_gets_the_flags_of_a_topology(version: str) -> None:
    plans = [NodeSpec(role, "node:1", version) for role in ROLES]
    config = kind_config(version, plans, controller_manager=SCALE.controller_manager)
    plain = kind_config(version, plans)
    for name, value in SCALE.controller_manager:
        assert name in config
        assert f'"{value}"' in config or f"'{value}'" in config
        assert name not in plain


def test_every_node_has_its_image() -> None:
    assert [node["image"] for node in mixed()["nodes"]] == ["node:1", "node:1", "node:old"]


def test_worker_whose_kubelet_is_too_old_for_seamless_updates_says_so() -> None:
    _, new, old = mixed()["nodes"]
    assert new["labels"] == {DEVICE_LABEL: "true", ROOM_LABEL: "common"}
    assert old["labels"] == {**new["labels"], SEAMLESS_LABEL: "false"}


def test_old_kubelet_gets_the_apis_that_it_knows_and_its_own_gate() -> None:
    config = mixed()
    assert config["runtimeConfig"] == {"resource.k8s.io/v1beta1": "true", "resource.k8s.io/v1beta2": "true"}
    assert "featureGates" not in config, "the control plane has it locked"
    assert kubelet_of(config) == {"kind": "KubeletConfiguration", "featureGates": {"DynamicResourceAllocation": True}}


def test_old_kubelet_has_what_the_host_asks_for_too() -> None:
    assert kubelet_of(mixed(cgroup_v1=True, sys_resource=False)) == {
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "featureGates": {"KubeletInUserNamespace": True, "DynamicResourceAllocation": True},
    }
