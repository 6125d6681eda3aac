"""Operators deploy pods with claims: they get claims and templates, and nothing that belongs to admins and drivers."""

from __future__ import annotations

from fixtures import personas
from fixtures.checks import check
from fixtures.kube import Kube
from fixtures.outcomes import expect


@check(
    "rbac.operator.manages-claims",
    level="core",
    source="GP-1b",
    hint="give the role of those who deploy pods all verbs on resourceclaims and resourceclaimtemplates",
)
def test_manages_claims(operator: Kube, namespace: str) -> None:
    """An operator can do everything with claims and templates in the own namespace."""
    refused = personas.refused_management(operator, namespace)
    expect(not refused, "all steps of a claim's and a template's life are granted", f"refused: {', '.join(refused)}")


@check(
    "rbac.operator.no-deviceclass-write",
    level="core",
    source="GP-1a",
    hint="only admins write DeviceClasses: look for ClusterRoleBindings of groups such as system:authenticated",
)
def test_no_deviceclass_write(kube: Kube, operator: Kube) -> None:
    """Operators cannot create, change or delete DeviceClasses."""
    granted = personas.granted_writes(kube, operator, "deviceclasses")
    expect(not granted, "every write of a DeviceClass is refused", f"granted: {', '.join(granted)}")


@check(
    "rbac.operator.no-resourceslice-write",
    level="core",
    source="GP-1a",
    hint="only drivers write ResourceSlices: look for bindings to groups such as system:serviceaccounts",
)
def test_no_resourceslice_write(kube: Kube, operator: Kube) -> None:
    """Operators cannot create, change or delete ResourceSlices."""
    granted = personas.granted_writes(kube, operator, "resourceslices")
    expect(not granted, "every write of a ResourceSlice is refused", f"granted: {', '.join(granted)}")
