"""The report as JUnit XML: one suite per practice, one case per check, its outcome and level as properties.

JUnit knows passed, failed, error and skipped. What an advisory check finds never fails a verdict, so it does not fail
here either: it is a skipped case whose message begins with the outcome, like every outcome that JUnit has no word for.
"""

from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite
from junitparser.xunit2 import TestCase

from reports.model import CheckResult, Report
from reports.phrases import driver_title, failure_text


def to_junit(report: Report) -> str:
    """The XML text. Suites and cases have the order of the report."""
    document = JUnitXml(f"DRA good practices: {driver_title(report)}")
    for practice in report.practices:
        suite = TestSuite(practice.name)
        checks = [check for check in report.checks if check.practice == practice.name]
        began = [check.started for check in checks if check.started]
        if began:
            suite.timestamp = min(began).isoformat()
        suite.add_property("verdict", practice.verdict)
        suite.add_testcases([_case(check) for check in checks])
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    text: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return '<?xml version="1.0" encoding="utf-8"?>\n' + text.decode("utf-8")


def _case(check: CheckResult) -> TestCase:
    case = TestCase(check.id, classname=check.practice, time=round(check.duration, 3))
    properties = {
        "id": check.id,
        "claim": check.claim,
        "level": check.level,
        "outcome": check.outcome,
        "reason": check.reason or "",
        "source": check.source,
    }
    for name, value in properties.items():
        case.add_property(name, value)
    for file in check.files:
        case.add_property("file", file)
    if check.outcome == "passed":
        return case
    details = failure_text(check)
    first = check.failure.observed.strip().split("\n")[0] if check.failure else check.reason or ""
    message = f"{check.outcome}: {first}" if first else check.outcome
    kinds = {"error": Error} if check.level == "advisory" else {"error": Error, "failed": Failure}
    result = kinds.get(check.outcome, Skipped)(message, check.outcome)
    result.text = details
    case.result = [result]
    return case
