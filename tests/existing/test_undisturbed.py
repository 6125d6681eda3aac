"""A run that may not disturb the cluster tells the truth, leaves everything as it was, and lets nobody in meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from drivers.install import RUN_LABEL
from fixtures.check.collected import FILE
from fixtures.cluster.existing.run_lease import NAME, NAMESPACE
from fixtures.kube.informer import Scope
from fixtures.kube.waits import wait_for
from reports.model import load_catalogue

if TYPE_CHECKING:
    from tests.existing.conftest import ByHand, Everything
    from tests.runs import Suite

DISTURBING = {entry.id for entry in load_catalogue(FILE) if entry.disruptive}
ONE = "--dra-check=driver.prepare.device-visible"


def test_a_full_run_is_conformant_and_changes_nothing(
    by_hand: ByHand, suite: Suite, look: Callable[[], Everything]
) -> None:
    before = look()
    process = suite.start(f"--dra-kubeconfig={by_hand.kubeconfig}", "-n4", "--dist=worksteal")
    seen = wait_for(
        by_hand.kube,
        Scope("Lease", NAMESPACE, NAME),
        lambda leases: leases[0] if leases else None,
        timeout=180,
        what="the run's Lease",
    )
    second = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", ONE)
    assert second.code == 2
    assert f"Another run holds this cluster: {seen['spec']['holderIdentity']}, started by " in second.said
    assert second.report is None
    done = suite.end(process)
    outcomes = done.outcomes()
    assert {name for name, outcome in outcomes.items() if outcome == "not-applicable"} >= DISTURBING
    told = {name: outcome for name, outcome in outcomes.items() if name not in DISTURBING and outcome != "passed"}
    extended = {check.id for check in done.report.checks if check.level != "core"} if done.report else set()
    assert set(told.values()) <= {"not-applicable", "not-supported"}
    assert told.keys() <= extended
    assert (done.report and done.report.verdict, done.code) == ("conformant", 0)
    assert done.report
    assert done.report.leftovers == ()
    assert "The verdict does not cover the" in done.said
    assert before.changes(look()) == []


def test_a_context_is_found_as_kubectl_finds_it(by_hand: ByHand, suite: Suite) -> None:
    done = suite.run(ONE, "-n0", KUBECONFIG=str(by_hand.kubeconfig))
    assert done.outcomes()["driver.prepare.device-visible"] == "passed"


def test_a_run_that_was_killed_is_followed_after_its_lease_has_expired(
    by_hand: ByHand, suite: Suite, look: Callable[[], Everything]
) -> None:
    before = look()
    labels = {RUN_LABEL: "dead"}
    by_hand.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
    old = "2026-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "dead", "leaseDurationSeconds": 60, "acquireTime": old, "renewTime": old}
    metadata = {"name": NAME, "namespace": NAMESPACE}
    by_hand.kube.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
    done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", ONE, "-n0")
    assert done.outcomes()["driver.prepare.device-visible"] == "passed"
    assert before.changes(look()) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--dra-context=by-hnd",), "did you mean"),
        (("--dra-allow-disruptive",), "say which cluster may be disturbed, with --dra-context NAME"),
        (("--dra-kubernetes=1.36.3",), "--dra-kubernetes is for --dra-cluster kind"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_made(
    by_hand: ByHand, suite: Suite, look: Callable[[], Everything], options: tuple[str, ...], says: str
) -> None:
    before = look()
    done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", *options)
    assert done.code == 2
    assert says in done.said
    assert before.changes(look()) == []


def test_the_plan_looks_and_changes_nothing(by_hand: ByHand, suite: Suite, look: Callable[[], Everything]) -> None:
    before = look()
    done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", "--dra-plan")
    assert done.code == 0
    assert f"in the existing cluster {by_hand.context}, Kubernetes 1." in done.said
    assert "needs --dra-allow-disruptive with --dra-context NAME" in done.said
    assert before.changes(look()) == []


def test_the_report_says_where_it_was(by_hand: ByHand, suite: Suite) -> None:
    done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", ONE, "-n0")
    assert done.report
    facts = done.report.cluster
    assert (facts.provider, facts.name) == ("existing", by_hand.context)
    version = json.loads(by_hand.kube.raw("get", "/version"))["gitVersion"]
    assert facts.server_version == version
