"""Saboteurs of a driver's rights: its role and its admission policy give too much or too little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from drivers.saboteurs.model import Saboteur, package
from drivers.saboteurs.rbac import DRA, rule

Object = dict[str, Any]
Overlay = Callable[[list[Object]], list[Object]]


def changed(kind: str, change: Callable[[Object], object]) -> Overlay:
    """An overlay that changes each object of a kind in place."""

    def overlay(objects: list[Object]) -> list[Object]:
        for item in objects:
            if item["kind"] == kind:
                change(item)
        return objects

    return overlay


def without_policy(objects: list[Object]) -> list[Object]:
    """Leave out the driver's admission policy and its binding."""
    return [item for item in objects if not item["kind"].startswith("ValidatingAdmissionPolicy")]


def also(*rules: Object) -> Overlay:
    """Give the driver's role more rules."""
    return changed("ClusterRole", lambda item: item["rules"].extend(rules))


def as_cluster_admin(objects: list[Object]) -> list[Object]:
    """Bind the driver's ServiceAccount to `cluster-admin`, too."""
    own = next(item for item in objects if item["kind"] == "ClusterRoleBinding")
    reference = {**own["roleRef"], "name": "cluster-admin"}
    name = f"{own['metadata']['name']}-admin"
    return [*objects, {**own, "metadata": {"name": name}, "roleRef": reference}]


def _rules_on(item: Object, resource: str) -> Iterator[Object]:
    return (one for one in item["rules"] if resource in one["resources"])


def _no_delete(item: Object) -> None:
    for one in _rules_on(item, "resourceslices"):
        one["verbs"].remove("delete")


def _any_node(item: Object) -> None:
    for one in _rules_on(item, "resourceclaims/driver"):
        one["verbs"] += ["arbitrary-node:update", "arbitrary-node:patch"]


def _any_name(item: Object) -> None:
    for one in _rules_on(item, "resourceclaims/driver"):
        del one["resourceNames"]


def _no_driver_rule(item: Object) -> None:
    item["rules"] = [one for one in item["rules"] if "resourceclaims/driver" not in one["resources"]]


def _other_account(item: Object) -> None:
    condition = item["spec"]["matchConditions"][0]
    condition["expression"] = condition["expression"].rstrip().removesuffix('"') + '-kubelet-plugin"'


def _creation_only(item: Object) -> None:
    item["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = ["CREATE"]


def _watched_only(item: Object) -> None:
    item["spec"]["validationActions"] = ["Audit"]


SABOTEURS: tuple[Saboteur, ...] = (
    package(
        "driver-cannot-delete-slices",
        "the driver's role lacks a verb: it cannot delete its outdated slices",
        changed("ClusterRole", _no_delete),
        "rbac.driver.required",
    ),
    package(
        "driver-is-cluster-admin",
        "the driver's ServiceAccount is bound to cluster-admin",
        as_cluster_admin,
        "rbac.driver.least-privilege",
        "rbac.driver.own-claims-status",
    ),
    package(
        "driver-reads-secrets",
        "the driver's role reads the Secrets of all namespaces",
        also(rule("", "secrets", "get", "list", "watch")),
        "rbac.driver.least-privilege",
    ),
    package(
        "driver-binds-claims",
        "the driver's role has the scheduler's right to allocate and reserve claims",
        also(rule(DRA, "resourceclaims/binding", "update", "patch")),
        "rbac.driver.least-privilege",
        "rbac.driver.own-claims-status",
    ),
    package(
        "no-node-policy",
        "the driver comes without an admission policy: its token on one node writes the slices of all",
        without_policy,
        "rbac.driver.own-node-slices",
    ),
    package(
        "node-policy-for-another-account",
        "the admission policy names a ServiceAccount that the driver does not have",
        changed("ValidatingAdmissionPolicy", _other_account),
        "rbac.driver.own-node-slices",
    ),
    package(
        "node-policy-for-new-slices",
        "the admission policy looks at the creation of slices only",
        changed("ValidatingAdmissionPolicy", _creation_only),
        "rbac.driver.own-node-slices",
    ),
    package(
        "node-policy-only-audits",
        "the admission policy is bound so that it writes into the audit log and denies nothing",
        changed("ValidatingAdmissionPolicyBinding", _watched_only),
        "rbac.driver.own-node-slices",
    ),
    package(
        "driver-on-arbitrary-nodes",
        "the driver's role writes the device status of claims on all nodes",
        changed("ClusterRole", _any_node),
        "rbac.driver.own-claims-status",
    ),
    package(
        "driver-in-any-name",
        "the driver's role writes device status in the name of all drivers",
        changed("ClusterRole", _any_name),
        "rbac.driver.own-claims-status",
    ),
    package(
        "driver-status-as-before",
        "the driver's role writes claims' status as before 1.36, without the right to its own devices in it",
        changed("ClusterRole", _no_driver_rule),
        "rbac.driver.own-claims-status",
    ),
)
