"""What a rule of a role gives."""

from __future__ import annotations

import pytest

from fixtures.kube.subjects import EVERYONE, Subject
from fixtures.rbac.audit.rules import Rule

DRA = "resource.k8s.io"


def rule(groups: str, resources: str, verbs: str) -> Rule:
    return Rule.of({"apiGroups": groups.split(","), "resources": resources.split(), "verbs": verbs.split()})


@pytest.mark.parametrize(
    ("resources", "reached", "not_reached"),
    [
        ("*", "deviceclasses resourceclaims/status resourceclaims/driver", ""),
        ("deviceclasses", "deviceclasses", "resourceslices resourceclaims/status"),
        ("resourceclaims", "resourceclaims", "resourceclaims/status resourceclaimtemplates"),
        ("*/status", "resourceclaims/status devicetaintrules/status", "resourceclaims resourceclaims/driver"),
        ("*/scale", "", "resourceclaims resourceclaims/status deviceclasses"),
        ("resourceclaims/*", "", "resourceclaims resourceclaims/status resourceclaims/binding"),
        ("", "", "resourceclaims deviceclasses"),
    ],
)
def test_a_rule_reaches_what_rbac_matches(resources: str, reached: str, not_reached: str) -> None:
    made = rule(DRA, resources, "patch")
    assert all(made.writes(DRA, resource) == ("patch",) for resource in reached.split())
    assert not any(made.writes(DRA, resource) for resource in not_reached.split())


def test_a_rule_of_another_group_gives_nothing() -> None:
    assert rule("apps", "*", "*").writes(DRA, "deviceclasses") == ()
    assert rule("apps,*", "*", "*").writes(DRA, "deviceclasses") == ("*",)


@pytest.mark.parametrize(
    ("verbs", "writes"),
    [
        ("get list watch", ()),
        ("get create delete", ("create", "delete")),
        ("deletecollection patch", ("patch", "deletecollection")),
        ("*", ("*",)),
        ("get associated-node:patch", ("associated-node:patch",)),
        ("arbitrary-node:update patch", ("patch", "arbitrary-node:update")),
    ],
)
def test_reading_is_no_writing(verbs: str, writes: tuple[str, ...]) -> None:
    assert rule(DRA, "resourceclaims/driver", verbs).writes(DRA, "resourceclaims/driver") == writes


@pytest.mark.parametrize(
    ("groups", "resources", "blind"),
    [
        (DRA, "deviceclasses", False),
        (DRA, "deviceclasses *", False),
        (DRA, "*", True),
        ("*", "deviceclasses", True),
        ("*", "*", True),
        (DRA, "resourceslices", False),
        ("apps", "*", False),
    ],
)
def test_a_wildcard_reaches_what_it_does_not_name(groups: str, resources: str, blind: bool) -> None:
    assert rule(groups, resources, "*").is_wildcard_for(DRA, "deviceclasses") == blind


def test_an_account_is_the_same_by_either_name_and_in_its_groups() -> None:
    account = Subject.of({"kind": "ServiceAccount", "name": "a"}, "ns")
    assert account == Subject.user("system:serviceaccount:ns:a")
    assert account.user_name == "system:serviceaccount:ns:a"
    assert str(account) == "ServiceAccount ns/a"
    assert account.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")


def test_other_subjects_are_what_they_are() -> None:
    assert Subject.of({"kind": "User", "name": "jane"}) == Subject("User", "jane")
    assert str(Subject("Group", "dev")) == "Group dev"
    assert Subject("Group", "system:serviceaccounts:ns").groups == (
        "system:serviceaccounts:ns",
        "system:serviceaccounts",
        "system:authenticated",
    )
    assert Subject("Group", "system:serviceaccounts") in EVERYONE
    assert Subject("Group", "system:serviceaccounts:ns") not in EVERYONE
