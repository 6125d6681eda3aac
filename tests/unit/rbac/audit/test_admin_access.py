"""Who can use and who can make namespaces for admin access."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fixtures.rbac.audit import admin_access
from fixtures.rbac.audit.audit import unexpected
from fixtures.rbac.audit.expected import BUILT_IN

if TYPE_CHECKING:
    from tests.unit.rbac.audit.conftest import World


def labelled(world: World, name: str, value: str = "true") -> None:
    world.namespace(name)
    world.objects["Namespace"][-1]["metadata"]["labels"][admin_access.LABEL] = value


def users(world: World) -> list[str]:
    return unexpected(admin_access.users(world.cluster(), BUILT_IN)).splitlines()


def makers(world: World) -> list[str]:
    return unexpected(admin_access.makers(world.cluster(), BUILT_IN)).splitlines()


def test_tenants_of_a_labelled_namespace_are_told(world: World) -> None:
    labelled(world, "monitoring")
    labelled(world, "off", "false")
    world.namespace("team-a")
    claims = world.rule("resourceclaims", "create")
    world.give("Group in-it", claims, namespace="monitoring")
    world.give("Group elsewhere", claims, namespace="team-a")
    world.give("Group off", claims, namespace="off")
    world.give("Group everywhere", world.rule("resourceclaimtemplates", "*"))
    world.give("Group readers", world.rule("*", "get", "*"))
    world.give("Group system:masters", world.rule("*", "*", "*"))
    assert admin_access.labelled(world.cluster()) == ["monitoring"]
    assert [line.split(" may ")[0] for line in users(world)] == ["Group everywhere", "Group in-it"]


def test_labels_of_the_suites_own_namespaces_do_not_count(world: World) -> None:
    world.namespace("dra-1a2b3c", dra_conformance__run="r")
    world.objects["Namespace"][-1]["metadata"]["labels"][admin_access.LABEL] = "true"
    assert admin_access.labelled(world.cluster()) == []


@pytest.mark.parametrize(
    ("label_in", "create_in", "where"),
    [
        (None, None, "in every namespace"),
        (None, "team-a", "in namespace team-a"),
        ("team-a", None, "in namespace team-a"),
        ("team-a", "team-a", "in namespace team-a"),
        ("team-a", "team-b", None),
    ],
)
def test_who_labels_and_creates_in_one_place_makes_his_own(
    world: World, label_in: str | None, create_in: str | None, where: str | None
) -> None:
    world.give("Group team", world.rule("namespaces", "patch", ""), namespace=label_in)
    world.give("Group team", world.rule("resourceclaims", "create"), namespace=create_in)
    found = makers(world)
    assert bool(found) == bool(where)
    if where:
        assert found == [f"Group team may label namespaces and create claims in them {where}, by {by(label_in)}"]


def by(namespace: str | None) -> str:
    return f"RoleBinding {namespace}/r0 (ClusterRole r0)" if namespace else "ClusterRoleBinding r0 (ClusterRole r0)"


@pytest.mark.parametrize(("names", "place"), [("team-a", "in namespace team-a"), ("team-b", None)])
def test_the_right_to_a_namespace_by_name_counts_for_that_one(world: World, names: str, place: str | None) -> None:
    world.give("User jane", world.rule("namespaces", "update", "", names))
    world.give("User jane", world.rule("resourceclaims", "create"), namespace="team-a")
    assert [place in line for line in makers(world) if place] == ([True] if place else [])
    assert bool(makers(world)) == bool(place)


@pytest.mark.parametrize(("first", "second"), [("namespaces", "resourceclaims"), ("resourceclaims", "namespaces")])
def test_members_of_groups_have_what_their_groups_have(world: World, first: str, second: str) -> None:
    groups = {"namespaces": "", "resourceclaims": "resource.k8s.io"}
    world.give("Group system:serviceaccounts:ci", world.rule(first, "create patch", groups[first]))
    world.give("ServiceAccount ci/robot", world.rule(second, "create patch", groups[second]))
    assert [line.split(" may ")[0] for line in makers(world)] == ["ServiceAccount ci/robot"]


def test_strangers_do_not_add_up_and_admins_are_expected(world: World) -> None:
    world.give("Group one", world.rule("namespaces", "patch", ""))
    world.give("Group other", world.rule("resourceclaims", "create"))
    world.give("Group system:masters", world.rule("*", "*", "*"))
    assert makers(world) == []
    assert [f.who for f in admin_access.makers(world.cluster(), BUILT_IN)] == ["Group system:masters"]
