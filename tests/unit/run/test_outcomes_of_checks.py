"""What becomes of a check in a run: the same alone and in parallel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from reports.clauses import load_clauses
from reports.model import CheckResult, Failure

if TYPE_CHECKING:
    from tests.unit.run.conftest import Run

EXPECTED = {
    "passed": "passed",
    "waited": "passed",
    "failed": "failed",
    "failed-in-setup": "failed",
    "raised": "error",
    "refused": "error",
    "forbidden": "inconclusive",
    "asserted": "error",
    "raised-in-setup": "error",
    "raised-in-teardown": "error",
    "failed-in-teardown": "error",
    "failed-then-raised": "failed",
    "skipped": "error",
    "inconclusive": "inconclusive",
    "meddled-with": "inconclusive",
    "meddled-with-unseen": "inconclusive",
    "not-applicable": "not-applicable",
    "not-supported": "not-supported",
    "fake-only": "not-applicable",
    "exempt": "exempt",
    "invariant-broken": "failed",
    "explained": "failed",
    "passed-unexplained": "error",
    "failed-unexplained": "failed",
}
both = pytest.mark.parametrize("how", ["mixed", "mixed in parallel"])


@both
def test_every_way_to_end_has_its_outcome(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    assert run.outcomes() == EXPECTED
    assert (run.report.verdict, run.code) == ("non-conformant", 1)
    assert run.report.crash is None


def of(run: Run, name: str) -> CheckResult:
    return next(check for check in run.report.checks if check.id == f"rbac.ends.{name}")


@both
def test_a_failure_is_told_with_both_sides_context_and_remedy(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    failed = of(run, "failed").failure
    assert failed == Failure(expected="a device", observed="none", context="on node-1", hint="the remedy of failed")
    assert of(run, "failed-in-setup").failure == Failure(
        expected="a driver", observed="none came up", hint="the remedy of failed-in-setup"
    )
    assert "rbac.ends.failed: It fails in the call." in run.said
    assert "expected: a device" in run.said
    assert "hint    : the remedy of failed" in run.said
    assert "expect([]" not in run.said, "no lines of the suite's own code"


@both
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raised", "RuntimeError: no such key"),
        ("refused", "ForbiddenError: 403"),
        (
            "forbidden",
            "a policy of this cluster forbids what the check makes (remedy: exempt namespaces with the label ",
        ),
        ("asserted", "AssertionError: an assumption of the suite"),
        ("raised-in-setup", "RuntimeError: no such file"),
        ("raised-in-teardown", "cleaning up: RuntimeError: it is still there"),
        ("failed-in-teardown", "cleaning up: CheckFailed: expected: pods gone"),
        ("skipped", "bare skip: no time"),
        ("inconclusive", "one node only"),
        ("meddled-with", "DaemonSet driver was changed by flux: pause whatever keeps the driver as it is"),
        ("meddled-with-unseen", "DaemonSet driver was changed by flux: pause whatever keeps the driver as it is"),
        ("not-applicable", "too old"),
        ("not-supported", "the driver's manifest declares rolling-update unsupported"),
        ("fake-only", "needs the fake driver's switches"),
        ("exempt", "we have our own"),
        ("passed-unexplained", "cannot tell what happened: FileNotFoundError"),
    ],
)
def test_every_other_outcome_has_its_reason(start: Callable[[str], Run], how: str, name: str, reason: str) -> None:
    result = of(start(how), name)
    assert result.reason is not None
    assert result.reason.startswith(reason)
    assert result.failure is None


def test_what_a_check_waited_for_others_is_not_of_its_duration(start: Callable[[str], Run]) -> None:
    assert of(start("mixed"), "waited").duration < 1.0


def test_a_check_without_recorded_rights_that_is_refused_says_so(start: Callable[[str], Run]) -> None:
    run = start("few rights")
    refused = of(run, "refused")
    remedy = "python -m fixtures.rights --record"
    unrecorded = f"it is not recorded which rights this check needs (remedy: {remedy})"
    assert refused.outcome == "inconclusive"
    assert refused.reason == f"{unrecorded}, and the runner lacks one: no pods for you"
    assert of(run, "raised").outcome == "error"


@both
def test_a_broken_invariant_fails_a_check_that_passed(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    failure = of(run, "invariant-broken").failure
    assert failure is not None
    assert failure.observed.startswith("claim x holds too much (+")
    assert "test_outcomes.py::test_invariant_broken - rbac.ends.invaria" in run.said


@both
@pytest.mark.parametrize(
    ("name", "reason"),
    [("passed-unexplained", "cannot tell what happened: FileNotF"), ("skipped", "bare skip: no time")],
)
def test_an_error_that_pytest_does_not_see_is_shown_all_the_same(
    start: Callable[[str], Run], how: str, name: str, reason: str
) -> None:
    said = start(how).said
    assert f"test_outcomes.py::test_{name.replace('-', '_')} - rbac.ends.{name[:5]}" in said
    assert f"rbac.ends.{name}: It " in said
    assert f"reason  : {reason}" in said


@both
def test_a_failure_stays_one_when_it_cannot_be_explained(start: Callable[[str], Run], how: str) -> None:
    result = of(start(how), "failed-unexplained")
    assert result.failure is not None
    assert result.failure.observed == "none"
    assert "FileNotFoundError" in (result.reason or "")


@both
def test_a_failed_check_is_explained_by_files_of_its_own(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    result = of(run, "explained")
    paths = "checks/rbac.ends.explained"
    names = {
        f"{paths}/{name}" for name in ("events.txt", "record.jsonl", "timeline.json", "timeline.txt", "timeline.svg")
    }
    assert names <= set(result.files)
    assert result.timeline == f"{paths}/timeline.svg"
    assert [(m.name, m.value) for m in result.measurements] == [("pods", 3)]
    (out,) = (path.parent for path in run.written)
    assert all((out / file).is_file() for file in result.files)
    assert not (out / "checks" / "rbac.ends.passed").exists()


@both
def test_the_report_says_where_what_and_how_it_was_run(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    report = run.report
    assert report.cluster.server_version == "v1.37.2"
    assert [(node.name, node.runtime) for node in report.cluster.nodes] == [("node-1", "containerd://2")]
    assert report.cluster.resource_versions == ("v1",)
    assert report.driver.project == "kubernetes-pydra"
    assert report.driver.saboteur is None
    assert report.options["exempt"] == "rbac.ends.exempt=we have our own"
    assert report.options["driver"] == "kubernetes-pydra"
    assert report.metadata.finished > report.metadata.started
    assert all(check.started for check in report.checks)
    (out,) = (path.parent for path in run.written)
    assert {"index.html", "junit.xml", "summary.md", "conformance-report.yaml"} <= {f.name for f in out.iterdir()}
    results = [json.loads(file.read_text()) for file in (out / "allure-results").glob("*-result.json")]
    assert len(results) == len(EXPECTED)
    link = {"type": "link", "url": load_clauses()["GP-1"].link, "name": "GP-1"}
    assert all(result["links"] == [link] for result in results)
    assert "report: out/" in run.said


def test_a_run_alone_and_one_in_parallel_say_the_same(start: Callable[[str], Run]) -> None:
    alone, parallel = (
        [
            (c.id, c.outcome, c.failure and c.failure.expected, c.files, [m.name for m in c.measurements])
            for c in start(how).report.checks
        ]
        for how in ("mixed", "mixed in parallel")
    )
    assert alone == parallel
