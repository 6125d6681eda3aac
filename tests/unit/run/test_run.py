"""A whole run, from `pytest suites` to the report and the exit code, on a cluster of words.

The runs are started in the background, two at a time, since most of their time is Python starting.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures import catalogue
from reports.model import CheckResult, Failure, Report

PROJECT = Path(__file__).parent / "project"
ROOT = Path(__file__).parents[3]
SUITES = {
    "rbac": "outcomes",
    "drain": "healthy",
    "scale": "crash",
    "liveness": "interrupt",
    "upgrade": "death",
}
MIXED = (
    "--dra-practice=rbac",
    "--dra-driver=kubernetes-pydra",
    "--dra-exempt=rbac.ends.exempt=we have our own",
)
HEALTHY = ("--dra-practice=drain",)
# name: files of the project, options
RUNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "mixed": ((), (*MIXED, "-n0")),
    "mixed in parallel": ((), (*MIXED, "-n2")),
    "healthy": (("no-end",), HEALTHY),
    "kept": ((), (*HEALTHY, "--dra-keep=always", "--dra-check=drain.order.kept")),
    "deselected": ((), (*HEALTHY, "-k", "kept", "--dra-keep=on-failure")),
    "patient": ((), (*HEALTHY, "--dra-timeout-scale=2")),
    "crash": ((), ("--dra-practice=scale", "-n2")),
    "SIGTERM": ((), ("--dra-practice=liveness", "--dra-report-dir=out/SIGTERM")),
    "SIGINT in parallel": ((), ("--dra-practice=liveness", "--dra-report-dir=out/SIGINT", "-n1")),
    "death": ((), ("--dra-practice=upgrade",)),
    "no engine": (("no-engine",), HEALTHY),
    "no access": (("no-access",), HEALTHY),
    "no patience": (("no-patience",), HEALTHY),
    "broken suite": (("suites/drain/test_broken.py",), HEALTHY),
    "inside another": (("outer",), HEALTHY),
}


@dataclass(frozen=True)
class Run:
    code: int
    said: str
    project: Path

    @property
    def cluster(self) -> list[str]:
        return (self.project / "cluster.log").read_text().splitlines()

    @property
    def written(self) -> list[Path]:
        return list(self.project.rglob("conformance-report.json"))

    @property
    def report(self) -> Report:
        (file,) = self.written
        report = Report.model_validate_json(file.read_text())
        assert report.exit_code == self.code
        assert f"verdict: {report.verdict}" in self.said
        return report

    def outcomes(self) -> dict[str, str]:
        return {check.id.rpartition(".")[2]: check.outcome for check in self.report.checks}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Run]]:
    template = tmp_path_factory.mktemp("template")
    for practice, module in SUITES.items():
        (template / "suites" / practice).mkdir(parents=True)
        shutil.copy(PROJECT / f"{module}.py", template / "suites" / practice / f"test_{module}.py")
    shutil.copy(PROJECT / "place.py", template / "conftest.py")
    shutil.copy(ROOT / "pyproject.toml", template)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "SUITES", template / "suites")
        (template / "suites" / "catalogue.yaml").write_text(catalogue.text())

    def run(name: str) -> Run:
        files, options = RUNS[name]
        project = tmp_path_factory.mktemp("run") / "project"
        shutil.copytree(template, project)
        for file in files:
            (project / file).write_text("this is broken")
        (project / "tmp").mkdir()
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRA_", "PYTEST_"))}
        environment |= {"TMPDIR": str(project / "tmp"), "PYTHONPATH": str(ROOT)}
        if "outer" in files:
            environment["DRA_SESSION_DIR"] = str(project / "session")
        where = () if any(option.startswith("--dra-report-dir") for option in options) else ("--dra-report-dir=out",)
        command = [sys.executable, "-m", "pytest", "suites", "-p", "no:cacheprovider", *where, *options]
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        return Run(done.returncode, done.stdout + done.stderr, project)

    with ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(run, name) for name in RUNS}

        def result(name: str) -> Run:
            done = runs[name].result()
            print(done.said[-20000:])
            return done

        yield result
        pool.shutdown(cancel_futures=True)


EXPECTED = {
    "passed": "passed",
    "failed": "failed",
    "failed-in-setup": "failed",
    "raised": "error",
    "asserted": "error",
    "raised-in-setup": "error",
    "raised-in-teardown": "error",
    "failed-in-teardown": "error",
    "failed-then-raised": "failed",
    "skipped": "error",
    "inconclusive": "inconclusive",
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
        ("asserted", "AssertionError: an assumption of the suite"),
        ("raised-in-setup", "RuntimeError: no such file"),
        ("raised-in-teardown", "cleaning up: RuntimeError: it is still there"),
        ("failed-in-teardown", "cleaning up: CheckFailed: expected: pods gone"),
        ("skipped", "bare skip: no time"),
        ("inconclusive", "one node only"),
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


@both
def test_a_broken_invariant_fails_a_check_that_passed(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    failure = of(run, "invariant-broken").failure
    assert failure is not None
    assert failure.observed.startswith("claim x holds too much (+")
    assert "test_outcomes.py::test_invariant_broken - rbac.ends.invaria" in run.said


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
    place = "checks/rbac.ends.explained"
    names = {
        f"{place}/{name}" for name in ("events.txt", "record.jsonl", "timeline.json", "timeline.txt", "timeline.svg")
    }
    assert names <= set(result.files)
    assert result.timeline == f"{place}/timeline.svg"
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
    assert len(list((out / "allure-results").glob("*-result.json"))) == len(EXPECTED)
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


@pytest.mark.parametrize("how", ["healthy", "inside another"])
def test_a_kept_practice_is_conformant(start: Callable[[str], Run], how: str) -> None:
    run = start(how)
    assert run.outcomes() == {"kept": "passed", "seen": "passed"}
    assert (run.report.verdict, run.code) == ("conformant", 0)


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


@pytest.mark.parametrize(
    ("how", "outcomes"),
    [
        ("deselected", {"kept": "passed", "seen": "not-run"}),
        ("kept", {"kept": "passed", "seen": "not-run"}),
        ("patient", {"kept": "passed", "seen": "passed"}),
    ],
)
def test_less_than_the_plan_or_with_more_patience_is_partial(
    start: Callable[[str], Run], how: str, outcomes: dict[str, str]
) -> None:
    run = start(how)
    assert run.outcomes() == outcomes
    assert (run.report.verdict, run.code) == ("partial", 3)


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


def test_a_cluster_that_cannot_be_used_breaks_the_run_and_is_not_left(start: Callable[[str], Run]) -> None:
    run = start("no access")
    assert run.code == 4
    assert "PermissionError: no access" in run.said


def test_an_interrupt_while_the_cluster_is_made_leaves_nothing(start: Callable[[str], Run]) -> None:
    run = start("no patience")
    assert run.code == 2
    assert run.written == []


def test_a_suite_that_cannot_be_collected_is_a_broken_suite(start: Callable[[str], Run]) -> None:
    run = start("broken suite")
    assert run.report.crash == "suites/drain/test_broken.py cannot be collected"
    assert set(run.outcomes().values()) == {"not-run"}
    assert (run.report.verdict, run.code) == ("partial", 4)
