"""What changed between two runs: is the second one worse?"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from reports.model import CheckResult, Outcome, Report
from reports.phrases import number
from reports.verdict import VERDICTS

# A change of a measurement that is no noise: two runs of the same thing on shared machines differ by less.
_DRIFT = 0.25
_TOLD: tuple[Outcome, ...] = ("passed", "failed")
_FAULTS: tuple[Outcome, ...] = ("failed", "error")


@dataclass(frozen=True, slots=True)
class Difference:
    """The lines to show, by heading, and whether the second run is worse.

    Worse is: a lower verdict, a check that newly fails or breaks, or a check that told something before and tells
    nothing now (not run, inconclusive, exempt, or gone from the plan). Advisory failures and measurements are shown,
    and do not make a run worse: a measurement that matters has a threshold, and its check fails.
    """

    worse: bool
    sections: dict[str, list[str]] = field(default_factory=dict)


def difference(before: Report, after: Report) -> Difference:
    """Compare two reports, check by check."""
    old = {check.id: check for check in before.checks}
    new = {check.id: check for check in after.checks}
    pairs = [(old[name], new[name]) for name in old if name in new]
    failures: list[tuple[CheckResult | None, CheckResult]] = [
        (None, new[name]) for name in new if name not in old and new[name].outcome in _FAULTS
    ]
    failures += [(a, b) for a, b in pairs if b.outcome in _FAULTS and a.outcome not in _FAULTS]
    silent = [(a, b) for a, b in pairs if a.outcome in _TOLD and b.outcome not in (*_TOLD, *_FAULTS)]
    gone = [old[name] for name in old if name not in new]
    lower = VERDICTS.index(after.verdict) > VERDICTS.index(before.verdict)
    sections = {
        "verdict": [f"{before.verdict} -> {after.verdict}"] if before.verdict != after.verdict else [],
        "new failures": [_line(a, b) for a, b in failures],
        "recovered": [_line(a, b) for a, b in pairs if a.outcome in _FAULTS and b.outcome == "passed"],
        "newly not run": [_line(a, b) for a, b in silent if b.outcome == "not-run"],
        "newly without an answer": [_line(a, b) for a, b in silent if b.outcome != "not-run"],
        "no longer planned": [f"{check.id}: was {check.outcome}" for check in gone],
        "measurements that drifted": [line for a, b in pairs for line in _drift(a, b)],
        "not the same conditions": list(_conditions(before, after)),
    }
    worse = (
        lower
        or any(b.outcome == "error" or b.level != "advisory" for _, b in failures)
        or bool(silent)
        or any(check.outcome in _TOLD for check in gone)
    )
    return Difference(worse, {title: lines for title, lines in sections.items() if lines})


def _line(before: CheckResult | None, after: CheckResult) -> str:
    was = before.outcome if before else "new check"
    because = after.failure.observed if after.failure else after.reason or ""
    level = f" ({after.level})" if after.level != "core" else ""
    return f"{after.id}{level}: {was} -> {after.outcome}" + (f", {because.splitlines()[0]}" if because else "")


def _drift(before: CheckResult, after: CheckResult) -> Iterator[str]:
    old = {measurement.name: measurement for measurement in before.measurements}
    for measurement in after.measurements:
        past = old.get(measurement.name)
        if past is None or past.unit != measurement.unit or past.value == measurement.value:
            continue
        change = (measurement.value - past.value) / abs(past.value) if past.value else float("inf")
        if abs(change) >= _DRIFT:
            amount = f"{change:+.0%}" if past.value else "from nothing"
            values = f"{number(past.value)} -> {number(measurement.value)} {measurement.unit}"
            yield f"{after.id}: {measurement.name} {values} ({amount})"


def _conditions(before: Report, after: Report) -> Iterator[str]:
    facts = {
        "driver": (before.driver.name, after.driver.name),
        "driver version": (before.driver.version, after.driver.version),
        "saboteur": (before.driver.saboteur, after.driver.saboteur),
        "Kubernetes": (before.cluster.server_version, after.cluster.server_version),
        "provider": (before.cluster.provider, after.cluster.provider),
        "nodes": (len(before.cluster.nodes), len(after.cluster.nodes)),
        "catalogue": (before.metadata.catalogue_sha256[:12], after.metadata.catalogue_sha256[:12]),
    }
    for name, (old, new) in facts.items():
        if old != new:
            yield f"{name}: {old} -> {new}"
    for name in sorted(before.options.keys() | after.options.keys()):
        was, now = before.options.get(name, "unset"), after.options.get(name, "unset")
        if was != now:
            yield f"option {name}: {was} -> {now}"
