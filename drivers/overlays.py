"""What careless packaging does to a driver's manifests, and careless admins to a cluster.

An overlay takes the objects of an installation and returns them changed; cluster faults are plain objects.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"


def _daemon_sets(objects: list[Object]) -> Iterator[Object]:
    yield from (item for item in objects if item["kind"] == "DaemonSet")


def wrong_selector(objects: list[Object]) -> list[Object]:
    """Forget the node selector: the driver lands on every node."""
    for item in _daemon_sets(objects):
        item["spec"]["template"]["spec"].pop("nodeSelector", None)
    return objects


def no_surge(objects: list[Object]) -> list[Object]:
    """Roll out without overlap although the driver could."""
    for item in _daemon_sets(objects):
        item["spec"]["updateStrategy"] = {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
        }
    return objects


def no_probe(objects: list[Object]) -> list[Object]:
    """Leave out every liveness probe."""
    for item in _daemon_sets(objects):
        for container in item["spec"]["template"]["spec"]["containers"]:
            container.pop("livenessProbe", None)
    return objects


def second_installation(objects: list[Object]) -> list[Object]:
    """Add the DaemonSet of an older installation, under another name, that nobody removed."""
    for item in list(_daemon_sets(objects)):
        old = copy.deepcopy(item)
        old["metadata"]["name"] += "-old"
        for labels in (old["spec"]["selector"]["matchLabels"], old["spec"]["template"]["metadata"]["labels"]):
            labels["app"] += "-old"
        objects.append(old)
    return objects


def force_deletes_terminating(objects: list[Object]) -> list[Object]:
    """Add a job that force-deletes pods which are Terminating for long."""
    return objects + _operator(
        objects, "force-delete", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "delete"]}]
    )


def removes_driver_on_cordon(objects: list[Object]) -> list[Object]:
    """Add an operator that takes the driver off cordoned nodes."""
    return objects + _operator(
        objects,
        "remove-on-cordon",
        [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
            {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["patch"]},
        ],
    )


def _operator(objects: list[Object], deed: str, rules: list[Object]) -> list[Object]:
    """A Deployment that runs one of `drivers.fake.meddlers` next to the driver, with the rights it needs."""
    driver = next(_daemon_sets(objects))
    template = driver["spec"]["template"]["spec"]
    name, namespace = f"{driver['metadata']['name']}-operator", driver["metadata"]["namespace"]
    labels = {"app": name}
    pod = {
        "serviceAccountName": name,
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "volumes": [volume for volume in template["volumes"] if "configMap" in volume],
        "containers": [
            {
                "name": "operator",
                "image": template["containers"][0]["image"],
                "imagePullPolicy": "IfNotPresent",
                "command": ["python3", "-m", "drivers.fake.meddlers", deed, namespace, driver["metadata"]["name"]],
                "env": [e for e in template["containers"][0]["env"] if e["name"] == "PYTHONPATH"],
                "volumeMounts": [
                    mount for mount in template["containers"][0]["volumeMounts"] if mount["mountPath"] == "/code"
                ],
            }
        ],
    }
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]


def without_templates(role: Object) -> Object:
    """Take ResourceClaimTemplates out of a role's rules."""
    for rule in role["rules"]:
        rule["resources"] = [r for r in rule.get("resources", []) if r != "resourceclaimtemplates"]
    role["rules"] = [rule for rule in role["rules"] if rule["resources"]]
    return role


def group_binding(group: str, resource: str) -> tuple[Object, Object]:
    """A ClusterRole that writes a cluster-scoped DRA resource and its binding to a whole group."""
    name = f"careless-{resource}"
    return (
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [_write(resource)]},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group}],
        },
    )


def _write(resource: str) -> Object:
    verbs = ["create", "update", "patch", "delete", "deletecollection"]
    return {"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": verbs}
