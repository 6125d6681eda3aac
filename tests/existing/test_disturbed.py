"""A run that may disturb the cluster: every check that this place allows, and what it did is undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.existing.conftest import ByHand, Everything
    from tests.runs import Suite

# Pods that a drain evicts come up elsewhere, and a driver's DaemonSet that was rolled out counts it.
CONSEQUENCES = r"^(made|deleted|changed): (pods|endpoints|endpointslices|controllerrevisions)/|\.?status\."


def test_a_full_run_disturbs_and_undoes_it(by_hand: ByHand, suite: Suite, look: Callable[[], Everything]) -> None:
    before = look()
    options = (f"--dra-kubeconfig={by_hand.kubeconfig}", f"--dra-context={by_hand.context}", "--dra-allow-disruptive")
    done = suite.run(*options, "-n4", "--dist=worksteal")
    assert done.report
    reasons = {check.id: (check.outcome, check.reason) for check in done.report.checks if check.outcome != "passed"}
    allowed = ("needs a cluster of topology", "which this place does not allow")
    odd = {
        name: told
        for name, told in reasons.items()
        if told[0] not in ("not-applicable", "not-supported") or not any(text in (told[1] or "") for text in allowed)
    }
    assert odd == {}
    assert all(check.planned for check in done.report.checks)
    assert (done.report.verdict, done.code) == ("conformant", 0)
    assert done.report.leftovers == ()
    assert before.changes(look(), CONSEQUENCES) == []
