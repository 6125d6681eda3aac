"""Saboteurs of people's rights: roles, bindings and policies of the cluster that give too much or too little."""

from __future__ import annotations

from typing import Any

from drivers.saboteurs.model import Edit, Saboteur

Object = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
DRA = "resource.k8s.io"
TENANT = "careless-tenant"
ACCOUNTS = {"kind": "Group", "name": "system:serviceaccounts"}
_WRITES = ("create", "update", "patch", "delete", "deletecollection")


def rule(group: str, resources: str, *verbs: str, names: tuple[str, ...] = ()) -> Object:
    """A rule of a role; `resources` are words."""
    found: Object = {"apiGroups": [group], "resources": resources.split(), "verbs": list(verbs)}
    return found | ({"resourceNames": list(names)} if names else {})


def role(name: str, *rules: Object, into: str | None = None) -> Object:
    """A ClusterRole, aggregated into one of the cluster's roles for users if wanted."""
    metadata: Object = {"name": f"careless-{name}"}
    if into:
        metadata["labels"] = {f"{RBAC}/aggregate-to-{into}": "true"}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(rules)}


def binding(name: str, of: str, to: Object, namespace: str | None = None, kind: str = "ClusterRole") -> Object:
    """A binding of a role to a subject, in a namespace or, without one, in the whole cluster."""
    metadata: Object = {"name": f"careless-{name}"} | ({"namespace": namespace} if namespace else {})
    subject = to if to["kind"] == "ServiceAccount" else {"apiGroup": RBAC, **to}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": of},
        "subjects": [subject],
    }


def given(name: str, to: Object, *rules: Object) -> tuple[Object, Object]:
    """A ClusterRole and its binding to a subject in the whole cluster."""
    return role(name, *rules), binding(name, f"careless-{name}", to)


def cluster(id: str, plants: str, objects: tuple[Object, ...], *breaks: str) -> Saboteur:  # noqa: A002
    """Objects that somebody has left in the cluster."""
    return Saboteur(id, "cluster", plants, breaks, objects=objects)


def without_templates(item: Object) -> Object:
    """Take ResourceClaimTemplates out of a role's rules."""
    for one in item["rules"]:
        one["resources"] = [r for r in one.get("resources", []) if r != "resourceclaimtemplates"]
    item["rules"] = [one for one in item["rules"] if one["resources"]]
    return item


def tenant(labels: Object, *more: Object) -> tuple[Object, ...]:
    """A namespace of people who deploy pods, with what else is in it."""
    metadata = {"name": TENANT, "labels": labels}
    return ({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, *more)


def policy_against_templates() -> tuple[Object, ...]:
    """An admission policy by which no ServiceAccount may create templates, though roles grant it."""
    name, api = "careless-policy", "admissionregistration.k8s.io/v1"
    what = {"apiGroups": [DRA], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["resourceclaimtemplates"]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [what]},
        "matchConditions": [{"name": "accounts", "expression": "'system:serviceaccounts' in request.userInfo.groups"}],
        "validations": [{"expression": "false", "reason": "Forbidden", "message": "templates come from the catalog"}],
    }
    actions = {"policyName": name, "validationActions": ["Deny"]}
    return (
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": actions},
    )


SABOTEURS: tuple[Saboteur, ...] = (
    Saboteur(
        "edit-without-templates",
        "cluster",
        "the role for operators lacks ResourceClaimTemplates",
        ("rbac.operator.manages-claims",),
        edits=(Edit("ClusterRole", "system:aggregate-to-edit", without_templates),),
    ),
    Saboteur(
        "view-without-templates",
        "cluster",
        "the role for viewers, which that for operators builds upon, lacks ResourceClaimTemplates",
        ("rbac.operator.manages-claims", "rbac.viewer.reads-only"),
        edits=(Edit("ClusterRole", "system:aggregate-to-view", without_templates),),
    ),
    cluster(
        "everyone-writes-deviceclasses",
        "a stray binding lets every authenticated user write DeviceClasses",
        given("deviceclasses", {"kind": "Group", "name": "system:authenticated"}, rule(DRA, "deviceclasses", *_WRITES)),
        "rbac.operator.no-deviceclass-write",
        "rbac.viewer.reads-only",
        "rbac.audit.cluster-writers",
        "rbac.audit.everyone",
        "rbac.driver.least-privilege",
    ),
    cluster(
        "service-accounts-write-slices",
        "a stray binding lets every ServiceAccount write ResourceSlices",
        given("resourceslices", ACCOUNTS, rule(DRA, "resourceslices", *_WRITES)),
        "rbac.operator.no-resourceslice-write",
        "rbac.viewer.reads-only",
        "rbac.audit.cluster-writers",
        "rbac.audit.everyone",
    ),
    cluster(
        "service-accounts-write-taint-rules",
        "a stray binding lets every ServiceAccount write DeviceTaintRules",
        given("devicetaintrules", ACCOUNTS, rule(DRA, "devicetaintrules", *_WRITES)),
        "rbac.operator.no-taint-rule-write",
        "rbac.viewer.reads-only",
        "rbac.audit.cluster-writers",
        "rbac.audit.everyone",
    ),
    cluster(
        "team-writes-deviceclasses",
        "a binding that nobody remembers lets a group of people write DeviceClasses",
        given("team", {"kind": "Group", "name": "hardware-team"}, rule(DRA, "deviceclasses", "create", "patch")),
        "rbac.audit.cluster-writers",
    ),
    cluster(
        "operators-everywhere",
        "a ClusterRoleBinding instead of RoleBindings gives the role for operators in every namespace",
        (binding("operators", "edit", ACCOUNTS),),
        "rbac.operator.other-namespace",
        "rbac.viewer.reads-only",
        "rbac.audit.everyone",
        "rbac.driver.least-privilege",
    ),
    cluster(
        "viewers-everywhere",
        "a ClusterRoleBinding lets every ServiceAccount look into every namespace",
        (binding("viewers", "view", ACCOUNTS),),
        "rbac.operator.other-namespace",
    ),
    cluster(
        "edit-writes-claim-status",
        "a role aggregated into that for operators gives claims with all their parts",
        (
            role(
                "claims",
                rule(DRA, "resourceclaims resourceclaims/status resourceclaims/driver", "*"),
                into="edit",
            ),
        ),
        "rbac.operator.no-claim-status",
        "rbac.audit.aggregation",
    ),
    cluster(
        "edit-has-all-of-dra",
        "a role aggregated into that for operators gives every resource of resource.k8s.io",
        (role("dra", rule(DRA, "*", *_WRITES), into="edit"),),
        "rbac.operator.no-claim-status",
        "rbac.audit.aggregation",
    ),
    cluster(
        "edit-writes-namespaces",
        "a role aggregated into that for operators lets them change their namespace",
        (role("namespaces", rule("", "namespaces", "update", "patch"), into="edit"),),
        "rbac.operator.no-admin-access",
        "rbac.audit.aggregation",
    ),
    cluster(
        "view-writes-claims",
        "a role aggregated into that for viewers lets them create claims",
        (role("viewers", rule(DRA, "resourceclaims", "create", "delete"), into="view"),),
        "rbac.viewer.reads-only",
        "rbac.audit.aggregation",
    ),
    cluster(
        "everything-for-a-robot",
        "a ServiceAccount that deploys things has a role of asterisks",
        given("robot", {"kind": "ServiceAccount", "name": "deployer", "namespace": "default"}, rule("*", "*", "*")),
        "rbac.audit.cluster-writers",
        "rbac.audit.wildcards",
        "rbac.audit.admin-access-namespaces",
    ),
    cluster(
        "tenant-owns-namespace",
        "tenants have a Role of asterisks in their namespace, with which they can also label it",
        tenant(
            {},
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "Role",
                "metadata": {"name": "careless-owner", "namespace": TENANT},
                "rules": [rule("*", "*", "*")],
            },
            binding("owner", "careless-owner", {"kind": "Group", "name": "tenants"}, TENANT, "Role"),
        ),
        "rbac.audit.wildcards",
        "rbac.audit.admin-access-namespaces",
    ),
    cluster(
        "tenant-has-admin-access",
        "a namespace of tenants has the label for admin access",
        tenant(
            {"resource.kubernetes.io/admin-access": "true"},
            binding("tenants", "edit", {"kind": "Group", "name": "tenants"}, TENANT),
        ),
        "rbac.audit.admin-access-namespaces",
    ),
    cluster(
        "nodes-write-slices",
        "a binding of the group of all nodes lets each kubelet write the slices of all",
        given("nodes", {"kind": "Group", "name": "system:nodes"}, rule(DRA, "resourceslices", "get", "list", *_WRITES)),
        "rbac.kubelet.own-slices",
        "rbac.audit.cluster-writers",
    ),
    cluster(
        "policy-against-templates",
        "an admission policy refuses what the roles grant: no ServiceAccount may create templates",
        policy_against_templates(),
        "rbac.operator.manages-claims",
        "rbac.agreement.reviews-match-requests",
    ),
)
