"""Words that several writers share: symbols, times, and a failure in at most fifteen lines."""

from reports.model import CheckResult, Level, Outcome, Practice, PracticeVerdict, Report
from reports.verdict import left_out

# Never shown without the word itself: neither a symbol nor a colour has to be known.
SYMBOLS: dict[Outcome | PracticeVerdict, str] = {
    "passed": "✓",
    "failed": "✗",
    "error": "!",
    "inconclusive": "?",
    "not-supported": "⊘",
    "not-applicable": "∅",
    "exempt": "○",
    "not-run": "…",
    "conformant": "✓",
    "partial": "◐",
    "non-conformant": "✗",
    "not-judged": "·",
}
PRACTICE_TITLES: dict[Practice, str] = {
    "rbac": "Separate permissions to DRA related APIs",
    "driver": "Driver deployment and maintenance",
    "upgrade": "Use drivers with seamless upgrade if available",
    "liveness": "Expose a liveness probe and use it",
    "drain": "Drain the driver as late as possible",
    "scale": "Monitor and tune components for higher load",
}
LEVEL_MEANINGS: dict[Level, str] = {
    "core": "must",
    "extended": "must if the feature is declared or seen",
    "advisory": "reported, never fails a verdict",
}

_LINES = 15
_LINE = 400


def failure_text(check: CheckResult) -> str:
    """What a check that did not hold tells first: expected, observed, context, hint and files, in 15 lines at most."""
    if check.failure is None:
        return f"reason  : {check.reason}" if check.reason else ""
    parts = [("expected", check.failure.expected), ("observed", check.failure.observed)]
    parts += [("context ", check.failure.context), ("hint    ", check.failure.hint)]
    parts += [
        ("files   ", ", ".join(check.files[:3]) + (f" and {len(check.files) - 3} more" if check.files[3:] else ""))
    ]
    present = [(name, text.strip().splitlines()) for name, text in parts if text.strip()]
    spare = _LINES - len(present)
    lines = []
    for name, (first, *more) in present:
        lines.append(f"{name}: {_shortened(first)}")
        shown = more[:spare]
        spare -= len(shown)
        lines += [f"          {_shortened(line)}" for line in shown]
        if len(more) > len(shown):
            lines[-1] += " …"
    return "\n".join(lines)


def broken(report: Report) -> list[CheckResult]:
    """The checks that failed or broke, those first that weigh most."""
    weights = tuple(LEVEL_MEANINGS)
    found = [check for check in report.checks if check.outcome in ("failed", "error")]
    return sorted(found, key=lambda check: (weights.index(check.level), check.outcome != "failed"))


def not_covered(report: Report) -> str | None:
    """What the verdict does not cover, because the run was not to disturb the cluster; None when it covers all."""
    number = sum(left_out(check) for check in report.checks)
    if not number:
        return None
    return (
        f"The verdict does not cover the {number} check{'s' if number > 1 else ''} that would have disturbed the "
        "cluster: --dra-allow-disruptive with --dra-context NAME makes them, too."
    )


def duration(seconds: float) -> str:
    """A duration for a reader: `0.6 s`, `3 min 20 s`, `1 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def number(value: float) -> str:
    """A measured value, as exact as a reader needs it."""
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def driver_title(report: Report) -> str:
    """The driver under test in a few words, with its version where it is known."""
    return " ".join(part for part in (report.driver.name, report.driver.version) if part)


def counts(report: Report) -> dict[Outcome, int]:
    """How many checks of the whole run had each outcome; those that did not occur are left out."""
    totals: dict[Outcome, int] = {}
    for practice in report.practices:
        for outcome, times in practice.counts.items():
            if times:
                totals[outcome] = totals.get(outcome, 0) + times
    return totals


def _shortened(line: str) -> str:
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
