"""Saboteurs of the cluster itself: roles and bindings that give too much or too little."""

from __future__ import annotations

from typing import Any

from drivers.saboteurs.model import Edit, Saboteur

Object = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"


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


SABOTEURS: tuple[Saboteur, ...] = (
    Saboteur(
        "edit-without-templates",
        "cluster",
        "the role for operators lacks ResourceClaimTemplates",
        ("rbac.operator.manages-claims",),
        edits=(Edit("ClusterRole", "system:aggregate-to-edit", without_templates),),
    ),
    Saboteur(
        "everyone-writes-deviceclasses",
        "cluster",
        "a stray binding lets every authenticated user write DeviceClasses",
        ("rbac.operator.no-deviceclass-write",),
        objects=group_binding("system:authenticated", "deviceclasses"),
    ),
    Saboteur(
        "service-accounts-write-slices",
        "cluster",
        "a stray binding lets every ServiceAccount write ResourceSlices",
        ("rbac.operator.no-resourceslice-write",),
        objects=group_binding("system:serviceaccounts", "resourceslices"),
    ),
)
