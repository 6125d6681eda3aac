"""Parts given to the cluster's own people."""

from __future__ import annotations

import re

import pytest

from fixtures.kube.subjects import Subject
from fixtures.options.mapping import Mapped, parse, shown


def test_each_kind_of_subject_is_understood() -> None:
    found = parse(
        "operator=group:dev in team-a\n"
        "admin = user:jane@example.com\nadmin=group:platform\n"
        "driver=serviceaccount:gpu/driver\n"
        "viewer=user:system:serviceaccount:ci:robot"
    )
    assert found == {
        "operator": (Mapped(Subject("Group", "dev"), "team-a"),),
        "admin": (Mapped(Subject("User", "jane@example.com")), Mapped(Subject("Group", "platform"))),
        "driver": (Mapped(Subject("ServiceAccount", "driver", "gpu"), "gpu"),),
        "viewer": (Mapped(Subject("ServiceAccount", "robot", "ci")),),
    }
    assert shown(found).startswith("operator=Group dev in team-a, admin=User jane@example.com, admin=Group platform")


def test_nobody_takes_no_part() -> None:
    assert parse("\n") == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("boss=group:a", "unknown part 'boss'; known: admin, driver, operator, viewer"),
        ("operator=group:a\noperator=group:b", "operator has more than one"),
        ("operator=dev", "'dev': write group:NAME"),
        ("operator=group:dev on team-a", "write group:NAME"),
        ("driver=serviceaccount:driver", "a ServiceAccount is serviceaccount:NAMESPACE/NAME"),
        ("operator", "'': write group:NAME"),
    ],
)
def test_what_cannot_be_understood_is_answered_with_what_could(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parse(text)
