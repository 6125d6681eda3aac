"""Operators deploy pods with claims: they get claims and templates, and nothing that belongs to admins and drivers."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect, not_applicable
from fixtures.kube.discovery import Served
from fixtures.rbac.personas import reviews, users
from fixtures.rbac.personas.attempts import granted
from fixtures.rbac.personas.identities import Persona

Api = tuple[Served, ...]


@check(
    "rbac.operator.manages-claims",
    level="core",
    source="GP-1b",
    hint="give the role of those who deploy pods all verbs on resourceclaims and resourceclaimtemplates",
)
def test_manages_claims(operator: Persona, api: Api) -> None:
    """An operator can do everything with claims and templates in the own namespace."""
    stopped = users.stopped(operator, api)
    expect(not stopped, "all steps of a claim's and a template's life are granted", "\n".join(stopped))


@check(
    "rbac.operator.other-namespace",
    level="core",
    source="GP-1b",
    hint="bind roles of operators by RoleBindings in their namespaces, not by ClusterRoleBindings",
)
def test_other_namespace(operator: Persona, elsewhere: str, api: Api) -> None:
    """An operator can neither read nor write claims and templates of another namespace."""
    theirs = granted(operator.kube, users.of_theirs(api, elsewhere))
    expect(not theirs, "every request in another namespace is refused", f"granted: {', '.join(theirs)}")


@check(
    "rbac.operator.no-deviceclass-write",
    level="core",
    source="GP-1a",
    hint="only admins write DeviceClasses: look for ClusterRoleBindings of groups such as system:authenticated",
)
def test_no_deviceclass_write(operator: Persona, api: Api) -> None:
    """Operators cannot create, change or delete DeviceClasses."""
    theirs = granted(operator.kube, users.writes_of(api, "deviceclasses"))
    expect(not theirs, "every write of a DeviceClass is refused", f"granted: {', '.join(theirs)}")


@check(
    "rbac.operator.no-resourceslice-write",
    level="core",
    source="GP-1a",
    hint="only drivers write ResourceSlices: look for bindings to groups such as system:serviceaccounts",
)
def test_no_resourceslice_write(operator: Persona, api: Api) -> None:
    """Operators cannot create, change or delete ResourceSlices."""
    theirs = granted(operator.kube, users.writes_of(api, "resourceslices"))
    expect(not theirs, "every write of a ResourceSlice is refused", f"granted: {', '.join(theirs)}")


@check(
    "rbac.operator.no-taint-rule-write",
    level="extended",
    source="GP-1a",
    hint="a DeviceTaintRule evicts pods in all namespaces: only admins may write them",
)
def test_no_taint_rule_write(operator: Persona, api: Api) -> None:
    """Operators cannot create, change or delete DeviceTaintRules."""
    writes = users.writes_of(api, "devicetaintrules")
    if not writes:
        not_applicable("this cluster does not serve DeviceTaintRules")
    theirs = granted(operator.kube, writes)
    expect(not theirs, "every write of a DeviceTaintRule is refused", f"granted: {', '.join(theirs)}")


@check(
    "rbac.operator.no-claim-status",
    level="core",
    source="GP-1b",
    hint="name resourceclaims and resourceclaimtemplates in roles of operators: `*` as resource gives the status, too",
)
def test_no_claim_status(operator: Persona, api: Api) -> None:
    """Operators cannot write a claim's status, nor have the rights to its parts, binding and driver."""
    theirs = granted(operator.kube, users.writes_of_status(api, operator.namespace))
    theirs += reviews.parts_of_claims(operator)
    expect(not theirs, "every write of a claim's status is refused", f"granted: {', '.join(theirs)}")


@check(
    "rbac.operator.no-admin-access",
    level="core",
    source="GP-1",
    hint="who may change a namespace can label it for admin access: let operators not write namespaces",
)
def test_no_admin_access(operator: Persona, api: Api) -> None:
    """An operator gets no claim with admin access, and cannot label the own namespace for it."""
    ways = users.admin_access(operator, api)
    expect(not ways, "claims with admin access and the label are refused", f"granted: {', '.join(ways)}")
