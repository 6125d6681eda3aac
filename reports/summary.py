"""The report on one screen, as Markdown for the page of a CI run."""

from collections.abc import Iterator

from reports.clauses import resolve
from reports.model import CheckResult, Report
from reports.phrases import SYMBOLS, broken, counts, driver_title, duration, failure_text, not_covered
from reports.verdict import rejudge

_MOST_FAILURES = 10
_MOST_LINES = 10


def to_markdown(report: Report) -> str:
    """Verdict, practices, failures with hints, and what else a reader has to know before trusting the verdict."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    took = (report.metadata.finished - report.metadata.started).total_seconds()
    yield f"# {SYMBOLS[report.verdict]} {report.verdict}: {_plain(driver_title(report))}"
    yield ""
    nodes = f"{len(report.cluster.nodes)} node{'s' if len(report.cluster.nodes) != 1 else ''}"
    yield (
        f"Kubernetes {_plain(report.cluster.server_version)} on {_plain(report.cluster.provider)}, {nodes}, "
        f"run `{report.metadata.run_id}`, {report.metadata.started:%Y-%m-%d %H:%M} UTC, {duration(took)}"
    )
    if report.driver.saboteur:
        yield f"\n**Planted fault: `{report.driver.saboteur}`.** The run proves that the checks can fail, no more."
    yield ""
    yield "| practice | verdict | checks |"
    yield "|---|---|---|"
    rows = [(practice.name, practice.verdict, practice.counts) for practice in report.practices]
    for name, verdict, times in [*rows, ("all", report.verdict, counts(report))]:
        said = ", ".join(f"{number} {outcome}" for outcome, number in times.items() if number)
        yield f"| {name} | {SYMBOLS[verdict]} {verdict} | {said} |"
    if gap := not_covered(report):
        yield f"\n{_plain(gap)}"
    yield from _failures(broken(report))
    named = {check.id for check in broken(report)}
    reasons = [reason for reason in rejudge(report).reasons if reason.split(" ", 1)[0] not in named]
    yield from _section("Why else not conformant", reasons)
    yield from _section("Seen", [f"{check.id}: {note}" for check in report.checks for note in check.notes])
    yield from _section("Left behind (no part of the verdict)", report.leftovers)


def _failures(checks: list[CheckResult]) -> Iterator[str]:
    for check in checks[:_MOST_FAILURES]:
        yield from (
            "",
            f"### {SYMBOLS[check.outcome]} {check.outcome}: `{check.id}` ({check.level})",
            _plain(check.claim),
            f"Source: {_source(check.source)}",
            "",
        )
        text = failure_text(check)
        fence = "```" if "```" not in text else "~~~~~~"
        yield from (f"{fence}text", text, fence)
    if len(checks) > _MOST_FAILURES:
        yield f"\n… and {len(checks) - _MOST_FAILURES} more, see `index.html`."


def _section(title: str, lines: tuple[str, ...] | list[str]) -> Iterator[str]:
    if not lines:
        return
    yield from ("", f"### {title}", "")
    for line in lines[:_MOST_LINES]:
        yield f"* {_plain(line)}"
    if len(lines) > _MOST_LINES:
        yield f"* … and {len(lines) - _MOST_LINES} more"


def _source(name: str) -> str:
    """The source of a check, with its link and what it says, as far as they are known."""
    source = resolve(name)
    link = f"[{_plain(source.name)}]({source.link})" if source.link else _plain(source.name)
    return f"{link}: {_plain(source.text)}" if source.text else link


def _plain(text: str) -> str:
    """Text that a Markdown page shows as it is, in one line."""
    for character in "\\`*_[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())
