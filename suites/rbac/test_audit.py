"""The audit: what the cluster's roles and bindings give to whom, whoever that is.

Expected are Kubernetes' own components, the driver under test, and whom the option `personas` names as admin or driver.
"""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun
from fixtures.rbac.audit import admin_access, entitlements
from fixtures.rbac.audit.audit import Audit, table, unexpected


@check(
    "rbac.audit.cluster-writers",
    level="core",
    source="GP-1a",
    hint="delete the binding, or name the subject: [tool.dra.personas] admin = [...] or driver = [...]",
)
def test_cluster_writers(check_run: CheckRun, audit: Audit) -> None:
    """Every subject that can write cluster-scoped DRA objects is expected to."""
    found = entitlements.cluster_writers(audit.cluster, audit.known)
    check_run.tables.append(table("Who can write DRA objects of the whole cluster", found))
    expect(not (strangers := unexpected(found)), "only expected subjects write them", strangers)


@check(
    "rbac.audit.wildcards",
    level="core",
    source="GP-1a",
    hint="name the resources in the role; `*` grows with every API that comes to the cluster",
)
def test_wildcards(check_run: CheckRun, audit: Audit) -> None:
    """No rule with a wildcard gives anybody but system and admins what belongs to admins and drivers."""
    found = entitlements.wildcards(audit.cluster, audit.known)
    check_run.tables.append(table("Who can write DRA objects by wildcards", found))
    expect(not (strangers := unexpected(found)), "only system and admins have such rules", strangers)


@check(
    "rbac.audit.aggregation",
    level="core",
    source="GP-1a",
    hint="take the label rbac.authorization.k8s.io/aggregate-to-... off the ClusterRole, or the rule out of it",
)
def test_aggregation(check_run: CheckRun, audit: Audit) -> None:
    """Nothing in the roles view, edit and admin, or aggregated into them, writes what belongs to admins and drivers."""
    found = entitlements.aggregated(audit.cluster)
    check_run.tables.append(table("What the roles for users give beyond claims and templates", found))
    expect(not found, "roles for users give claims and templates only", unexpected(found))


@check(
    "rbac.audit.everyone",
    level="core",
    source="GP-1",
    hint="bind roles to the group of those who need them, never to a group in which everybody is",
)
def test_everyone(check_run: CheckRun, audit: Audit) -> None:
    """Groups in which everybody or every ServiceAccount is write nothing of DRA."""
    found = entitlements.everyone(audit.cluster)
    check_run.tables.append(table("What everybody can write of DRA", found))
    expect(not found, "nothing is given to all users or all ServiceAccounts", unexpected(found))


@check(
    "rbac.audit.admin-access-namespaces",
    level="core",
    source="GP-1",
    hint="keep tenants out of labelled namespaces, and let nobody who creates claims write namespaces",
)
def test_admin_access_namespaces(check_run: CheckRun, audit: Audit) -> None:
    """No tenant can use a namespace that is labelled for admin access, or label one."""
    labelled = admin_access.labelled(audit.cluster)
    check_run.note(f"Labelled for admin access: {', '.join(labelled) or 'no namespace'}.")
    found = [*admin_access.users(audit.cluster, audit.known), *admin_access.makers(audit.cluster, audit.known)]
    check_run.tables.append(table("Who can have admin access to devices", found))
    expect(not (tenants := unexpected(found)), "only admins can have admin access", tenants)
