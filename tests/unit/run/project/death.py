"""A cluster that dies in the middle."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.check_run import CheckRun


@check("upgrade.ends.a-before", level="core", source="GP-3", hint="none")
def test_a_before() -> None:
    """It comes first."""


@check("upgrade.ends.b-at-it", level="core", source="GP-3", hint="none")
def test_b_at_it(check_run: CheckRun) -> None:
    """It fails since the cluster died."""
    (check_run.handle.kubeconfig.parent / "dead").touch()
    expect(False, "a pod", "no answer")


@check("upgrade.ends.c-after", level="core", source="GP-3", hint="none")
def test_c_after() -> None:
    """It would come last."""
    raise AssertionError
