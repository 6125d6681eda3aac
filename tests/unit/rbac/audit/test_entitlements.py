"""Who can write what: the audit's questions over roles and bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fixtures.kube.subjects import Subject
from fixtures.rbac.audit import entitlements
from fixtures.rbac.audit.audit import table, unexpected
from fixtures.rbac.audit.entitlements import Entitlement
from fixtures.rbac.audit.expected import BUILT_IN, expected

if TYPE_CHECKING:
    from tests.unit.rbac.audit.conftest import World

WRITES = "create update patch delete deletecollection"
USERS = ("view", "edit", "admin")


def told(found: list[Entitlement]) -> list[str]:
    return unexpected(found).splitlines()


def aggregated(world: World) -> World:
    """The cluster's own roles for users, as Kubernetes makes them: each is in the next one, too."""
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    claims = "resourceclaims resourceclaimtemplates"
    reads = world.rule(f"{claims} resourceclaims/status", "get list")
    world.role("system:aggregate-to-view", reads, into=f"{prefix}view")
    world.role("system:aggregate-to-edit", world.rule(claims, WRITES), into=f"{prefix}edit")
    world.role("system:aggregate-to-admin", into=f"{prefix}admin")
    for name, above in zip(USERS, ("edit", "admin", ""), strict=True):
        world.role(name, into=f"{prefix}{above}" if above else "", of=f"{prefix}{name}")
    return world


def test_a_stray_binding_is_told_with_its_way(world: World) -> None:
    world.role("careless", world.rule("deviceclasses resourceslices", "get create patch"))
    world.bind("stray", "careless", "Group team")
    found = entitlements.cluster_writers(world.cluster(), BUILT_IN)
    (line,) = told(found)
    assert line == (
        "Group team may create, patch deviceclasses, resourceslices in the whole cluster, "
        "by ClusterRoleBinding stray (ClusterRole careless)"
    )


def test_kubernetes_itself_is_expected(world: World) -> None:
    world.give("Group system:masters", world.rule("*", "*", "*"))
    controllers = "ServiceAccount kube-system"
    world.give(f"{controllers}/generic-garbage-collector", world.rule("*", "get patch delete", "*"))
    world.give(f"{controllers}/device-taint-eviction-controller", world.rule("devicetaintrules/status", "patch"))
    world.give("Group system:nodes", world.rule("resourceslices", "deletecollection"))
    found = entitlements.cluster_writers(world.cluster(), BUILT_IN)
    assert told(found) == []
    assert len(found) == 4
    assert {entitlement.row[-1] for entitlement in found} == {item.why for item in BUILT_IN} - {
        "kubeadm's administrators",
        "control plane",
    }


@pytest.mark.parametrize(
    ("subject", "resources", "verbs"),
    [
        ("Group system:nodes", "resourceslices", "patch"),
        ("Group system:nodes", "deviceclasses", "deletecollection"),
        ("ServiceAccount default/generic-garbage-collector", "deviceclasses", "delete"),
        ("User generic-garbage-collector", "deviceclasses", "delete"),
        ("User system:kube-scheduler", "resourceslices", "patch"),
    ],
)
def test_nobody_is_expected_to_do_more_than_is_his(world: World, subject: str, resources: str, verbs: str) -> None:
    world.give(subject, world.rule(resources, verbs))
    assert len(told(entitlements.cluster_writers(world.cluster(), BUILT_IN))) == 1


def test_a_driver_writes_slices_and_an_admin_all(world: World) -> None:
    known = expected(
        Subject("ServiceAccount", "driver", "drivers"),
        "system:serviceaccount:ci:suite",
        {"admin": [Subject("Group", "platform")], "driver": [Subject("ServiceAccount", "other", "drivers")]},
    )
    both = world.rule("deviceclasses resourceslices", "create")
    for subject in ("drivers/driver", "drivers/other", "ci/suite"):
        world.give(f"ServiceAccount {subject}", both)
    world.give("Group platform", both)
    found = entitlements.cluster_writers(world.cluster(), known)
    assert [line.split(" in ")[0] for line in told(found)] == [
        "ServiceAccount drivers/driver may create deviceclasses",
        "ServiceAccount drivers/other may create deviceclasses",
    ]
    reasons = ["the driver under test", "named as driver", "who runs this suite", "named as admin"]
    assert [f.why for f in found if f.why] == reasons


def test_reading_and_bindings_of_namespaces_write_nothing_of_the_cluster(world: World) -> None:
    world.give("Group readers", world.rule("*", "get list watch"))
    world.give("Group tenants", world.rule("*", "*", "*"), namespace="team-a")
    assert entitlements.cluster_writers(world.cluster(), ()) == []


def test_a_binding_to_a_role_that_is_not_there_gives_nothing(world: World) -> None:
    world.bind("b", "gone", "Group team")
    world.bind("b", "Role/gone", "Group team", "ns")
    assert entitlements.cluster_writers(world.cluster(), ()) == []
    assert len(world.cluster().grants) == 2


def test_the_suites_own_checks_are_left_out(world: World) -> None:
    world.namespace("dra-1a2b3c", dra_conformance__run="run-1")
    world.namespace("dra-tools")
    writes = world.rule("resourceslices", "create")
    world.give("ServiceAccount dra-1a2b3c/driver", writes)
    world.give("ServiceAccount dra-tools/driver", writes)
    world.give("Group team", world.rule("*", "*"), namespace="dra-1a2b3c")
    assert [grant.subject.namespace for grant in world.cluster().grants] == ["dra-tools"]


def test_wildcards_are_told_where_they_reach_what_they_do_not_name(world: World) -> None:
    world.give("ServiceAccount default/robot", world.rule("*", "*", "*"))
    world.give("Group team", world.rule("deviceclasses", "*"))
    world.give("Group readers", world.rule("*", "get"))
    world.give("Group system:masters", world.rule("*", "*", "*"))
    found = entitlements.wildcards(world.cluster(), BUILT_IN)
    assert [f.who for f in found] == ["ServiceAccount default/robot", "Group system:masters"]
    assert [line.split(" may ")[0] for line in told(found)] == ["ServiceAccount default/robot"]
    assert "resourceclaims/driver" in str(found[0])


def test_a_wildcard_in_a_namespace_reaches_the_parts_of_claims(world: World) -> None:
    world.role("owner", world.rule("*", "*", "*"), namespace="team-a")
    world.bind("owner", "Role/owner", "Group tenants", "team-a")
    (line,) = told(entitlements.wildcards(world.cluster(), BUILT_IN))
    assert line == (
        "Group tenants may * resourceclaims/status, resourceclaims/binding, resourceclaims/driver "
        "in namespace team-a, by RoleBinding team-a/owner (Role owner)"
    )


@pytest.mark.parametrize(
    ("group", "namespace"),
    [
        ("system:authenticated", None),
        ("system:unauthenticated", None),
        ("system:serviceaccounts", None),
        ("system:serviceaccounts", "team-a"),
    ],
)
def test_what_everybody_has_is_never_expected(world: World, group: str, namespace: str | None) -> None:
    world.give(f"Group {group}", world.rule("resourceclaims", "create"), namespace=namespace)
    world.give(f"Group {group}", world.rule("resourceclaims", "list"), namespace=namespace)
    world.give("Group system:serviceaccounts:team-a", world.rule("resourceclaims", "create"))
    (found,) = entitlements.everyone(world.cluster())
    assert str(found).startswith(f"Group {group} may create resourceclaims in ")


def test_the_clusters_own_roles_for_users_are_in_order(world: World) -> None:
    cluster = aggregated(world).cluster()
    assert entitlements.aggregated(cluster) == []
    assert cluster.sources("admin") == [
        "edit",
        "system:aggregate-to-admin",
        "system:aggregate-to-edit",
        "system:aggregate-to-view",
        "view",
    ]


@pytest.mark.parametrize(
    ("into", "resources", "verbs", "group", "told_as"),
    [
        ("view", "deviceclasses", "create", "resource.k8s.io", "view, edit, admin may create deviceclasses"),
        ("view", "resourceclaims", "create", "resource.k8s.io", "view, edit, admin may create resourceclaims"),
        ("edit", "resourceclaims/status", "patch", "resource.k8s.io", "edit, admin may patch resourceclaims/status"),
        ("edit", "*", "patch", "*", "edit, admin may patch devic"),
        ("admin", "namespaces", "patch", "", "admin may label namespaces for admin access"),
    ],
)
def test_what_is_aggregated_is_told_with_its_source(
    world: World, into: str, resources: str, verbs: str, group: str, told_as: str
) -> None:
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    aggregated(world).role("careless", world.rule(resources, verbs, group), into=f"{prefix}{into}")
    lines = told(entitlements.aggregated(world.cluster()))
    assert lines[0].startswith(f"whoever has the role {told_as}")
    assert all(line.endswith("by ClusterRole careless") for line in lines)


@pytest.mark.parametrize(
    ("into", "resources", "verbs"),
    [("edit", "resourceclaims", "create"), ("view", "deviceclasses", "get list"), ("edit", "resourceclaims/*", "*")],
)
def test_what_belongs_to_users_may_be_aggregated(world: World, into: str, resources: str, verbs: str) -> None:
    aggregated(world).role("fine", world.rule(resources, verbs), into=f"rbac.authorization.k8s.io/aggregate-to-{into}")
    assert entitlements.aggregated(world.cluster()) == []


def test_roles_that_are_not_aggregated_are_read_themselves(world: World) -> None:
    world.role("edit", world.rule("resourceslices", "delete"))
    (found,) = entitlements.aggregated(world.cluster())
    assert found.row[:2] == ("whoever has the role edit", "delete resourceslices")


def test_roles_that_contain_each_other_do_not_turn_in_circles(world: World) -> None:
    world.role("edit", world.rule("resourceslices", "delete"), into="a", of="b")
    world.role("other", into="b", of="a")
    assert world.cluster().sources("edit") == ["other"]


def test_selectors_may_have_expressions(world: World) -> None:
    world.role("big")
    expressions = [
        {"key": "team", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "team", "operator": "Exists"},
        {"key": "team", "operator": "NotIn", "values": ["b"]},
    ]
    world.objects["ClusterRole"][0]["aggregationRule"] = {"clusterRoleSelectors": [{"matchExpressions": expressions}]}
    roles = {"one": {"team": "a"}, "two": {"team": "b"}, "three": {"team": "a", "old": ""}, "four": {}}
    for name, labels in roles.items():
        world.role(name)
        world.objects["ClusterRole"][-1]["metadata"]["labels"] = labels
    assert world.cluster().sources("big") == ["one"]


def test_a_table_has_the_unexpected_first() -> None:
    rights = [Entitlement("a", "x", "here", "b", "admin"), Entitlement("z", "y", "there", "c")]
    made = table("title", rights)
    assert made.rows == (("z", "y", "there", "c", "not expected"), ("a", "x", "here", "b", "admin"))
    assert all(len(row) == len(made.columns) for row in made.rows)


def test_only_the_first_of_many_are_told() -> None:
    lines = told([Entitlement(f"s{i:02}", "x", "here", "b") for i in range(30)])
    assert len(lines) == 11
    assert lines[-1] == "and 20 more, see the table"
