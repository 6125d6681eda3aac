"""An API server that is slow, or fails for 5 % of the requests, makes a run longer and no verdict wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.existing.conftest import Everything
    from tests.runs import Suite

PRACTICES = "--dra-practice=rbac,driver,liveness"
SEEDS = range(int(os.environ.get("EXISTING_FAULTY_RUNS", "2")))


@pytest.mark.parametrize(
    "options",
    [
        *(pytest.param(("--share=0.05", f"--seed={seed}"), id=f"5 % fail, {seed}") for seed in SEEDS),
        pytest.param(("--delay=2",), id="2 s each"),
    ],
)
def test_the_verdict_is_the_same(
    suite: Suite, proxied: Callable[..., Any], look: Callable[[], Everything], options: tuple[str, ...]
) -> None:
    before = look()
    with proxied(*options) as kubeconfig:
        done = suite.run(f"--dra-kubeconfig={kubeconfig}", PRACTICES, "-n4", "--dist=worksteal")
    assert done.report
    wrong = {
        check.id: (check.outcome, check.reason or (check.failure and check.failure.observed))
        for check in done.report.checks
        if check.outcome not in ("passed", "not-applicable", "not-supported")
    }
    assert wrong == {}
    assert (done.report.verdict, done.code) == ("conformant", 0)
    assert before.changes(look()) == []
