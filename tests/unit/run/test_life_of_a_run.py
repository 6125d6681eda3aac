"""How a run begins and ends: verdict, exit code, what is written, and who deletes the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.run.conftest import Run


@pytest.mark.parametrize("how", ["healthy", "inside another"])
def test_a_kept_practice_is_conformant(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    assert run.outcomes() == dict.fromkeys(("alone", "elsewhere", "kept", "together"), "passed")
    assert (run.report.verdict, run.code) == ("conformant", 0)


@pytest.mark.parametrize("how", ["healthy", "kept"])
def test_what_a_check_tells_meanwhile_is_said_on_the_terminal(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    lines = run.said.splitlines()
    assert {"keeping the cluster", "deleting the cluster"} & set(lines), "on a line of its own"
    half, all_of_it = lines.index("half of it is kept"), lines.index("all of it is kept")
    assert half < all_of_it < next(n for n, line in enumerate(lines) if line.startswith("verdict: "))
    assert list(run.project.rglob("*.news")) == []


@pytest.mark.parametrize(
    ("how", "closes"),
    [
        ("healthy", ["close keep=False"]),
        ("kept", ["close keep=True"]),
        ("deselected", ["close keep=True"]),
        ("inside another", []),
        ("no engine", ["close keep=False"]),
        ("no access", ["close keep=False"]),
        ("no patience", ["close keep=False"]),
        ("no worker", ["close keep=False"]),
        ("broken suite", ["close keep=False"]),
        ("crash", ["close keep=False"]),
        ("SIGTERM", ["close keep=False"]),
    ],
)
def test_who_made_the_cluster_deletes_it_unless_it_is_to_be_kept(
    start: Callable[[str], Run], how: str, closes: list[str]
) -> None:
    run = start(how)
    assert run.cluster[0] == "ensure standard", "before any check"
    assert [line for line in run.cluster if line.startswith("close")] == closes
    assert run.cluster[-1:] == closes or not closes
    assert list((run.project / "tmp").glob("dra-*")) == [], "no session directory is left"
    assert (run.project / "session").exists() == (how == "inside another"), "that of another session is not touched"


def test_other_clusters_are_made_when_a_planned_check_needs_them(start: Callable[[str], Run]) -> None:
    assert "ensure skew" in start("healthy").cluster
    assert "ensure skew" not in start("kept").cluster


@pytest.mark.parametrize(
    ("how", "outcomes"),
    [
        ("deselected", {"alone": "not-run", "elsewhere": "not-run", "kept": "passed", "together": "not-run"}),
        ("kept", {"alone": "not-run", "elsewhere": "not-run", "kept": "passed", "together": "not-run"}),
        ("patient", dict.fromkeys(("alone", "elsewhere", "kept", "together"), "passed")),
    ],
)
def test_less_than_the_plan_or_with_more_patience_is_partial(
    start: Callable[[str], Run], how: str, outcomes: dict[str, str]
) -> None:
    run = start(how)
    assert run.outcomes() == outcomes
    assert (run.report.verdict, run.code) == ("partial", 3)


def test_a_namespace_carries_the_run_and_is_deleted_with_its_check(start: Callable[[str], Run]) -> None:
    log = start("healthy").cluster
    about = [line for line in log if "Namespace" in line]
    labels = "['dra-conformance/run', 'pod-security.kubernetes.io/enforce']"
    assert about == [f"create Namespace dict_keys({labels})", "delete Namespace dra-"]
    assert log.index(about[1]) < log.index("close keep=False")


def test_leftovers_are_reported_apart_from_the_verdict(start: Callable[[str], Run]) -> None:
    report = start("healthy").report
    assert report.leftovers == ("network words",)
    assert report.verdict == "conformant"


def test_a_worker_that_crashes_breaks_the_run_but_not_the_report(start: Callable[[str], Run]) -> None:
    run = start("crash")
    assert run.outcomes() == {"badly": "not-run", "well": "passed"}
    assert run.report.crash is not None
    assert "suites/scale/test_crash.py::test_badly" in run.report.crash
    assert (run.report.verdict, run.code) == ("partial", 4)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT in parallel"])
def test_an_interrupted_run_reports_what_it_has(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    assert run.outcomes() == {"early": "passed", "interrupted": "not-run", "never": "not-run"}
    assert (run.report.verdict, run.code) == ("partial", 3)
    assert run.cluster[-1] == "close keep=False"


def test_after_the_death_of_the_cluster_nothing_more_is_run(start: Callable[[str], Run]) -> None:
    run = start("death")
    assert run.outcomes() == {"a-before": "passed", "b-at-it": "error", "c-after": "not-run"}
    assert (run.report.verdict, run.code) == ("partial", 4)
    after = run.report.checks[-1]
    assert after.reason == "the cluster's API server stopped answering during the run"


def test_a_place_without_a_cluster_ends_with_its_remedy(start: Callable[[str], Run]) -> None:
    run = start("no engine")
    assert run.code == 2
    assert "There is no container engine." in run.said
    assert "Start docker." in run.said
    assert "Traceback" not in run.said
    assert run.written == []


def test_a_cluster_that_cannot_be_used_breaks_the_run_but_not_the_report(start: Callable[[str], Run]) -> None:
    run = start("no access")
    assert set(run.outcomes().values()) == {"not-run"}
    assert run.report.crash == "the cluster cannot be used: PermissionError: no access"
    assert (run.report.verdict, run.code) == ("partial", 4)
    assert "Traceback" in run.said


def test_an_interrupt_while_the_cluster_is_made_ends_in_a_report(start: Callable[[str], Run]) -> None:
    run = start("no patience")
    assert run.outcomes() == dict.fromkeys(("alone", "elsewhere", "kept", "together"), "not-run")
    assert run.report.crash is None
    assert (run.report.verdict, run.code) == ("partial", 3)
    assert run.report.cluster.name == ""
    assert "Traceback" not in run.said


def test_a_run_whose_workers_do_not_start_is_broken(start: Callable[[str], Run]) -> None:
    run = start("no worker")
    assert set(run.outcomes().values()) == {"not-run"}
    assert "no-such-python" in (run.report.crash or "")
    assert (run.report.verdict, run.code) == ("partial", 4)
    assert run.report.cluster.name == "words"


def test_a_suite_that_cannot_be_collected_is_a_broken_suite(start: Callable[[str], Run]) -> None:
    run = start("broken suite")
    assert run.report.crash == "suites/drain/test_broken.py cannot be collected"
    assert set(run.outcomes().values()) == {"not-run"}
    assert (run.report.verdict, run.code) == ("partial", 4)
