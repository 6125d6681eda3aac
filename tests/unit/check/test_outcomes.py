"""The words a check can end with."""

from __future__ import annotations

import pytest

from fixtures.check.outcomes import CheckFailed, OtherOutcome, Skipped, expect, inconclusive, not_applicable


def test_what_holds_is_passed_over() -> None:
    expect(["something"], "expected", "observed")


@pytest.mark.parametrize("nothing", [False, None, [], "", 0])
def test_what_does_not_hold_fails_with_both_sides(nothing: object) -> None:
    with pytest.raises(CheckFailed) as caught:
        expect(nothing, "a device", {"seen": 1}, "the context")
    failed = caught.value
    assert (failed.expected, failed.observed, failed.context) == ("a device", "{'seen': 1}", "the context")
    assert str(failed) == "expected: a device\nobserved: {'seen': 1}\ncontext : the context"
    assert isinstance(failed, AssertionError)


def test_a_failure_without_context_has_two_lines() -> None:
    assert str(CheckFailed("a", "b")) == "expected: a\nobserved: b"


@pytest.mark.parametrize(
    ("say", "outcome"), [(inconclusive, "inconclusive"), (not_applicable, "not-applicable")], ids=["tell", "apply"]
)
def test_another_outcome_is_said_with_its_reason(say: object, outcome: str) -> None:
    assert callable(say)
    with pytest.raises(OtherOutcome) as caught:
        say("one node only")
    assert (caught.value.outcome, caught.value.reason) == (outcome, "one node only")
    assert isinstance(caught.value, Skipped), "pytest shows it as a skip"
