"""Everything that is written from a report: complete, redacted, whole, and never all lost at once."""

import json
import re
from pathlib import Path

import junitparser
import pytest
import yaml
from junitparser.xunit2 import TestCase as Case
from markupsafe import escape

import reports.write
from reports import write_report
from reports.clauses import PAGE, load_clauses
from reports.data import load_report
from reports.html import to_html
from reports.junit import to_junit
from reports.model import CheckResult, Failure, Report
from reports.phrases import broken, duration, failure_text, number
from reports.summary import to_markdown
from reports.write import redacted, write_text

FILES = [
    "allure-results/categories.json",
    "allure-results/environment.properties",
    "allure-results/executor.json",
    "conformance-report.json",
    "conformance-report.yaml",
    "index.html",
    "junit.xml",
    "summary.md",
]


def written(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): path.read_text()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.parts[len(directory.parts)] != "checks"
    }


def named(report: Report, check_id: str) -> CheckResult:
    return next(check for check in report.checks if check.id == check_id)


def with_check(report: Report, check_id: str, **changes: object) -> Report:
    checks = tuple(c.model_copy(update=changes) if c.id == check_id else c for c in report.checks)
    return report.model_copy(update={"checks": checks})


def test_every_form_is_written(report: Report, run_directory: Path) -> None:
    assert write_report(report, run_directory) == []
    assert sorted(written(run_directory)) == FILES


def test_no_form_tells_a_secret(report: Report, run_directory: Path, secret: str) -> None:
    write_report(report, run_directory)
    for name, text in written(run_directory).items():
        assert secret not in text, name


def test_writing_again_gives_the_same(report: Report, run_directory: Path) -> None:
    write_report(report, run_directory)
    before = written(run_directory)
    write_report(report, run_directory)
    assert written(run_directory) == before


def test_what_was_written_can_be_read(report: Report, run_directory: Path) -> None:
    write_report(report, run_directory)
    assert load_report(run_directory) == redacted(report)
    assert yaml.safe_load((run_directory / "conformance-report.yaml").read_text())["verdict"] == report.verdict


@pytest.mark.parametrize("name", FILES)
def test_one_broken_writer_costs_one_file(
    name: str, report: Report, run_directory: Path, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    def breaks(_report: Report, _directory: Path) -> str:
        raise RuntimeError(f"no idea what to do with Authorization: Bearer {secret}")

    monkeypatch.setitem(reports.write._WRITERS, name, breaks)
    (problem,) = write_report(report, run_directory)
    assert problem.startswith(f"{name}: RuntimeError: no idea")
    files = written(run_directory)
    assert sorted(files) == sorted([*(set(FILES) - {name}), "write-errors.txt"])
    assert "RuntimeError" in files["write-errors.txt"]
    assert secret not in files["write-errors.txt"]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "report"
    write_text(file, "before")
    with pytest.raises(UnicodeEncodeError):
        write_text(file, "after \ud800")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert file.read_text() == "before"


def test_a_place_that_cannot_be_written_is_told(report: Report, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    problems = write_report(report, tmp_path / "file" / "run")
    assert len(problems) == len(FILES) + 1


def test_junit_has_a_suite_per_practice_and_says_the_outcome(report: Report) -> None:
    document = junitparser.JUnitXml.fromstring(to_junit(report).encode())
    assert [suite.name for suite in document] == [practice.name for practice in report.practices]
    cases = {
        case.name: Case.fromelem(case)  # type: ignore[no-untyped-call]
        for suite in document
        for case in suite
    }
    assert list(cases) == [check.id for check in report.checks]
    kinds = {name: [type(result).__name__ for result in case.result] for name, case in cases.items()}
    assert kinds["rbac.operator.manages-claims"] == []
    assert kinds["driver.slices.pool-per-node"] == ["Failure"]
    assert kinds["driver.prepare.device-visible"] == ["Error"]
    assert kinds["drain.order.driver-last"] == ["Skipped"]
    assert kinds["rbac.audit.wildcards"] == ["Skipped"], "advisory: reported, never fails"
    for check in report.checks:
        said = {entry.name: entry.value for entry in cases[check.id].properties()}
        assert said["outcome"] == check.outcome
        assert said["level"] == check.level
        assert said["source"] == check.source
        assert said["reason"] == (check.reason or "")
    (failure,) = cases["driver.slices.pool-per-node"].result
    assert "hint    : Name the pool after the node" in failure.text
    (exempt,) = cases["upgrade.downtime.cleanup-delayed"].result
    assert exempt.message.startswith("exempt: ")
    assert (document.tests, document.failures, document.errors) == (16, 2, 1)


def test_the_summary_says_first_what_matters(report: Report) -> None:
    text = to_markdown(redacted(report))
    assert text.startswith("# ✗ non-conformant: gpu.example.com 1.4.2\n")
    assert "| upgrade | ✗ non-conformant | 1 passed, 1 failed, 1 exempt |" in text
    assert text.index("`driver.slices.pool-per-node` (core)") < text.index("`rbac.audit.wildcards` (advisory)")
    assert "hint    : Name the pool after the node" in text
    assert "our own test \\| see ticket 42" in text
    assert "still Terminating" in text


def test_the_summary_stays_short(report: Report) -> None:
    failed = named(report, "driver.slices.pool-per-node")
    many = tuple(failed.model_copy(update={"id": f"driver.slices.number-{index}"}) for index in range(200))
    text = to_markdown(report.model_copy(update={"checks": many, "leftovers": tuple(map(str, range(500)))}))
    assert len(text.splitlines()) < 150
    assert "190 more" in text


def test_a_saboteur_cannot_be_overlooked(report: Report, tmp_path: Path) -> None:
    planted = report.model_copy(update={"driver": report.driver.model_copy(update={"saboteur": "fixed-sockets"})})
    for text in (to_markdown(planted), to_html(planted, tmp_path)):
        assert "Planted fault" in text
        assert "fixed-sockets" in text


def test_a_failure_has_at_most_fifteen_lines(report: Report) -> None:
    check = named(report, "driver.slices.pool-per-node").model_copy(
        update={
            "failure": Failure(
                expected="e" * 5000, observed="\n".join(map(str, range(100))), context="c\nd", hint="the remedy"
            )
        }
    )
    lines = failure_text(check).splitlines()
    assert len(lines) == 15
    assert lines[-2].startswith("hint    : the remedy")
    assert max(map(len, lines)) < 450


def test_the_page_needs_nothing_else(report: Report, run_directory: Path) -> None:
    page = to_html(redacted(report), run_directory)
    assert "<script" not in page
    assert re.findall(r'(?:src|srcset)="|@import|<link|url\((?!#)', page) == []
    links = set(re.findall(r'href="(https?:[^"]*)"', page))
    assert links == {PAGE, f"{PAGE}#use-drivers-with-seamless-upgrade-if-available"}


def test_every_check_shows_its_source_with_the_link_and_what_it_says(report: Report, tmp_path: Path) -> None:
    clause = load_clauses()["GP-3"]
    page = to_html(report, tmp_path)
    link = f'<a href="{clause.link}" title="{escape(clause.text)}">GP-3</a>'
    assert page.count(f'<td data-name="source">{link}') == len(report.checks)
    assert page.count(f"<dt>source</dt><dd>{link}: {escape(clause.text)}") == len(broken(report))


def test_each_failure_of_the_summary_has_its_source_with_the_link(report: Report) -> None:
    text = to_markdown(report)
    assert text.count(f"Source: [GP-3]({load_clauses()['GP-3'].link}): Use seamless upgrades") == len(broken(report))


def test_the_page_has_the_verdict_first_then_failures_with_hints(report: Report, run_directory: Path) -> None:
    page = to_html(redacted(report), run_directory)
    body = page[page.index("<body>") :]
    order = [
        "<h1>✗ non-conformant",
        "<h2>Practices",
        "<h2>What did not hold",
        "Name the pool after the node",
        "<h2>All",
    ]
    assert sorted(order, key=body.index) == order
    for check in report.checks:
        assert check.id in body
    assert 'href="checks/driver.slices.pool-per-node/logs/plugin%207xk2p%231.log"' in body
    assert "&lt;both with devices gpu-0 to gpu-3&gt;" in body
    assert "<both" not in body


def test_every_outcome_is_a_word_and_a_symbol(report: Report, tmp_path: Path) -> None:
    page = to_html(report, tmp_path)
    for check in report.checks:
        assert re.search(rf'<span class="badge {check.outcome}">\S+ {check.outcome}</span>', page)


def test_pictures_are_inside_in_the_colours_of_the_page(report: Report, run_directory: Path) -> None:
    page = to_html(report, run_directory)
    assert page.count("<svg ") == 4, "a wide and a narrow one of two checks"
    assert "var(--tint-driver-pod)" in page
    assert "#bcd7f7" not in page[page.index("<body>") :]


def test_a_picture_that_is_not_ours_is_not_put_into_the_page(report: Report, run_directory: Path) -> None:
    picture = run_directory / "checks" / "upgrade.seamless.slices-continuous" / "timeline.svg"
    picture.with_suffix(".narrow.svg").unlink()
    for hostile in ("<svg ><script>alert(1)</script></svg>", '<svg onload="alert(1)"></svg>', "<html>"):
        picture.write_text(hostile)
        page = to_html(report, run_directory)
        assert "alert(1)" not in page
        assert page.count("<svg ") == 2


def test_a_missing_picture_is_no_fault(report: Report, tmp_path: Path) -> None:
    assert write_report(report, tmp_path) == []


def test_hostile_texts_stay_texts(report: Report, tmp_path: Path) -> None:
    hostile = Failure(
        expected="</dd><script>alert(1)</script>", observed="]]> \x00 \x1b[31m``` & {{ 7 * 7 }}", hint="| * _x_"
    )
    spoilt = with_check(report, "driver.slices.pool-per-node", failure=hostile, claim="<b>", source="javascript:x")
    assert write_report(spoilt, tmp_path) == []
    files = written(tmp_path)
    assert "<script" not in files["index.html"]
    assert 'href="javascript:' not in files["index.html"]
    junitparser.JUnitXml.fromstring(files["junit.xml"].encode())
    assert "49" not in files["index.html"].split("observed</dt>")[1].split("</dd>")[0]
    assert load_report(tmp_path).verdict == report.verdict


def test_allure_learns_what_pytest_cannot_tell(report: Report, tmp_path: Path) -> None:
    spoilt = report.model_copy(update={"driver": report.driver.model_copy(update={"version": "1.0\nü\\x"})})
    write_report(spoilt, tmp_path)
    files = written(tmp_path)
    properties = files["allure-results/environment.properties"]
    assert "Kubernetes = v1.37.2\n" in properties
    assert "Driver.version = 1.0\\n\\u00fc\\\\x\n" in properties
    assert "Suite.commit = 94508fc0d6c1 (edited)\n" in properties
    assert json.loads(files["allure-results/executor.json"])["buildName"] == "r7f3c2"
    categories = json.loads(files["allure-results/categories.json"])
    for outcome in ("inconclusive", "not-supported", "not-applicable", "exempt", "not-run"):
        (matching,) = (
            category
            for category in categories
            if "messageRegex" in category and re.fullmatch(category["messageRegex"], f"Skipped: {outcome}: why\nmore")
        )
        assert matching["matchedStatuses"] == ["skipped"]


def test_times_and_numbers_for_readers() -> None:
    assert [duration(seconds) for seconds in (0.04, 59.94, 60, 199.6, 3900)] == [
        "0.0 s",
        "59.9 s",
        "1 min 00 s",
        "3 min 20 s",
        "1 h 05 min",
    ]
    assert [number(value) for value in (1.04, 0.000123, 25, 1234567.8)] == ["1.04", "0.000123", "25", "1,234,568"]


def test_what_was_seen_is_told_whatever_the_outcome(report: Report, run_directory: Path) -> None:
    (run_directory / "x").mkdir()
    write_report(report, run_directory / "x")
    for name in ("index.html", "summary.md", "conformance-report.yaml"):
        assert "waits after a clean stop" in (run_directory / "x" / name).read_text(), name
