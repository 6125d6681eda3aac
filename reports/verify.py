"""Check a report that somebody sent: is it whole, is it about these checks, and does it say what it adds up to?"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reports.data import UnreadableReport, load_report
from reports.model import (
    CatalogueEntry,
    CheckResult,
    Outcome,
    Report,
    catalogue_sha256,
    load_catalogue,
    repeated,
)
from reports.phrases import not_covered
from reports.verdict import rejudge

CATALOGUE = Path(__file__).parents[1] / "suites" / "catalogue.yaml"

_NEEDS_REASON: tuple[Outcome, ...] = ("inconclusive", "not-supported", "not-applicable", "exempt")


@dataclass(frozen=True, slots=True)
class Verification:
    """`problems` make the report untrustworthy; `notes` are true, and worth knowing before one relies on it."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]


def verify(path: Path, catalogue: Path = CATALOGUE) -> Verification:
    """Verify a report file, or the report in the directory of a run, against the catalogue of this checkout.

    Raises OSError when there is no such file, CatalogueError when there is a catalogue that cannot be read.
    """
    try:
        report = load_report(path)
    except UnreadableReport as unreadable:
        return Verification(tuple(unreadable.problems), ())
    problems = list(_inner_problems(report))
    notes = list(_notes(report))
    planned = None
    if not catalogue.exists():
        notes.append("there is no catalogue here to compare with: only the report itself was verified")
    elif (digest := catalogue_sha256(catalogue)) != report.metadata.catalogue_sha256:
        commit = report.metadata.suite_commit
        where = f"check out {commit} and verify again" if commit else "verify with the version that made it"
        problems.append(
            f"the report was judged by another catalogue ({report.metadata.catalogue_sha256[:12]}, "
            f"here it is {digest[:12]}): {where} ({report.metadata.suite_version})"
        )
    else:
        practices = {practice.name for practice in report.practices}
        problems += _wrongly_left_out(report, {entry.id for entry in load_catalogue(catalogue) if entry.disruptive})
        planned = [entry for entry in load_catalogue(catalogue) if entry.practice in practices]
        problems += _differences_to_plan(report, planned)
    problems += _differences_to_judgement(report, planned)
    return Verification(tuple(problems), tuple(notes))


def _inner_problems(report: Report) -> Iterator[str]:
    """What is wrong whichever catalogue it is compared with."""
    for name in repeated([check.id for check in report.checks]):
        yield f"{name}: appears more than once"
    for practice in repeated([practice.name for practice in report.practices]):
        yield f"practice {practice}: appears more than once"
    if report.metadata.finished < report.metadata.started:
        yield "the run finished before it started"
    for check in report.checks:
        yield from _problems_of_check(check)
    for timeout in report.timeouts:
        if timeout.exceeded != (timeout.used > timeout.conformant_maximum):
            yield (
                f"timeout {timeout.name}: {timeout.used:g} s of {timeout.conformant_maximum:g} s, "
                f"yet exceeded is {str(timeout.exceeded).lower()}"
            )


def _problems_of_check(check: CheckResult) -> Iterator[str]:
    if not check.id.startswith(f"{check.practice}."):
        yield f"{check.id}: is listed under practice {check.practice}"
    if check.outcome in _NEEDS_REASON and not (check.reason or "").strip():
        yield f"{check.id}: {check.outcome} without a reason"
    if not check.planned and check.outcome != "not-applicable":
        yield f"{check.id}: {check.outcome}, though it was not planned"
    if check.outcome == "failed" and check.failure is None:
        yield f"{check.id}: failed without saying what was expected and observed"
    if check.outcome == "passed" and check.failure is not None:
        yield f"{check.id}: passed, yet has a failure"
    if check.outcome in ("passed", "failed") and check.started is None:
        yield f"{check.id}: {check.outcome} without having started"


def _differences_to_plan(report: Report, planned: list[CatalogueEntry]) -> Iterator[str]:
    checks = {check.id: check for check in report.checks}
    for entry in planned:
        if entry.id not in checks:
            yield f"{entry.id}: is planned, and not in the report"
            continue
        check = checks.pop(entry.id)
        for name in ("practice", "level", "claim", "source", "features"):
            if (said := getattr(check, name)) != (planned_as := getattr(entry, name)):
                yield f"{entry.id}: {name} is {said!r}, the catalogue says {planned_as!r}"
    for name in checks:
        yield f"{name}: is not in the catalogue"


def _wrongly_left_out(report: Report, disruptive: set[str]) -> Iterator[str]:
    """Only a run that may not disturb somebody else's cluster leaves checks out of its plan: those that would."""
    undisturbing = report.options.get("cluster") == "existing" and report.options.get("allow-disruptive") == "False"
    for check in report.checks:
        if not check.planned and not (undisturbing and check.id in disruptive):
            yield f"{check.id}: was not planned, which neither the options nor the catalogue explain"


def _differences_to_judgement(report: Report, planned: list[CatalogueEntry] | None) -> Iterator[str]:
    judgement = rejudge(report, planned)
    judged = {practice.name: practice for practice in judgement.practices}
    for practice in report.practices:
        expected = judged.pop(practice.name, None)
        if expected is None:
            yield f"practice {practice.name}: has no checks"
            continue
        if practice.verdict != expected.verdict:
            yield f"practice {practice.name}: says {practice.verdict}, its checks add up to {expected.verdict}"
        for outcome, times in expected.counts.items():
            if practice.counts.get(outcome, 0) != times:
                yield f"practice {practice.name}: counts {practice.counts.get(outcome, 0)} {outcome}, there are {times}"
    for name in judged:
        yield f"practice {name}: has checks, and no verdict"
    if report.verdict != judgement.verdict:
        yield f"the verdict says {report.verdict}, the checks add up to {judgement.verdict}"
    if report.exit_code != judgement.exit_code:
        yield f"the exit code says {report.exit_code}, the checks add up to {judgement.exit_code}"


def _notes(report: Report) -> Iterator[str]:
    names = ", ".join(practice.name for practice in report.practices)
    yield f"the verdict is {report.verdict} and covers: {names or 'nothing'}"
    if gap := not_covered(report):
        yield gap
    if report.driver.saboteur:
        yield f"a fault was planted ({report.driver.saboteur}): the run proves that checks can fail, no more"
    if report.metadata.suite_dirty:
        yield "the suite had local edits"
    if not report.metadata.suite_commit:
        yield "the report does not say which commit of the suite made it"
    exempt = [check.id for check in report.checks if check.outcome == "exempt"]
    if exempt:
        yield f"exempt by the operator's choice: {', '.join(exempt)}"
