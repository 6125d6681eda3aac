"""Tables that checks put into the report: on the page under their check, whatever its outcome, and as data."""

from pathlib import Path

import pytest

from reports.data import load_report, to_yaml
from reports.html import to_html
from reports.model import CheckResult, Report, Table

ROWS = (("Group <team>", "create"), ("User jane", "*"))
TABLE = Table(title="Who can write", columns=("subject", "right"), rows=ROWS)


def with_table(report: Report, outcome: str) -> Report:
    """The first check with that outcome has found something."""
    first = next(check.id for check in report.checks if check.outcome == outcome)

    def told(check: CheckResult) -> CheckResult:
        return check.model_copy(update={"tables": (TABLE,)}) if check.id == first else check

    return report.model_copy(update={"checks": tuple(map(told, report.checks))})


@pytest.mark.parametrize("outcome", ["passed", "failed"])
def test_a_table_stands_once_on_the_page(report: Report, tmp_path: Path, outcome: str) -> None:
    page = to_html(with_table(report, outcome), tmp_path)
    assert page.count("<summary>Who can write (2)</summary>") == 1
    assert page.count('<td data-name="subject">Group &lt;team&gt;</td><td data-name="right">create</td>') == 1


def test_a_table_comes_back_from_the_data(report: Report, tmp_path: Path) -> None:
    file = tmp_path / "report.yaml"
    file.write_text(to_yaml(with_table(report, "passed")))
    assert [check.tables for check in load_report(file).checks if check.tables] == [(TABLE,)]
