"""From results to verdicts and to the exit code.

The plan, not the run, is what gets judged: a planned check without a result is `not-run`. One check at a time:

| outcome | core | extended | advisory |
|---|---|---|---|
| passed | conformant | conformant | conformant |
| failed | non-conformant | non-conformant | conformant |
| not-supported, not-applicable | partial | conformant | conformant |
| inconclusive, exempt | partial | partial | conformant |
| error, not-run | partial | partial | partial |

* A core check is a must: only `passed` satisfies it, so `conformant` always means that every planned core check passed.
  A check that some versions, places or drivers cannot be held to is therefore an extended one: a must *if*, and
  `not-supported` (declared) and `not-applicable` (version, capability, mode) both say that the *if* does not hold here.
* What an advisory check finds never counts. That it found nothing because the suite broke or left it out does: that is
  a defect of the run.
* A practice of which no check was executed is `partial` at best, and so is a run without any practice.
* A run in somebody else's cluster that may not disturb it does not plan the checks that would: they are
  `not-applicable`, not planned, and the verdict does not cover them, which the report says beside it. A practice
  without a planned check is `not-judged`.
* A timeout raised above its conformant maximum makes every practice `partial` at best: all of them waited by it.
* A crash of the suite makes the run `partial` at best.

The exit code follows the verdict: 1 as soon as something failed (a failure that was seen stays true when the suite
broke later), else 4 when a check ended in `error` or the suite crashed, else 3 for `partial`, else 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reports.model import (
    OUTCOMES,
    PRACTICES,
    CatalogueEntry,
    CheckResult,
    ExitCode,
    Practice,
    PracticeResult,
    PracticeVerdict,
    Report,
    TimeoutUse,
    Verdict,
)

VERDICTS: tuple[Verdict, ...] = ("conformant", "partial", "non-conformant")  # from best to worst


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `judge` found: `checks` has every planned check in the order of the plan, `not-run` where none reported.

    `reasons` are sentences that say why the verdict is not `conformant`, the worst first; empty when it is.
    """

    verdict: Verdict
    exit_code: ExitCode
    practices: tuple[PracticeResult, ...]
    checks: tuple[CheckResult, ...]
    reasons: tuple[str, ...]


def judge(
    planned: Sequence[CatalogueEntry],
    results: Mapping[str, CheckResult],
    *,
    timeouts: Iterable[TimeoutUse] = (),
    crash: str | None = None,
) -> Judgement:
    """Compare results by id with the plan: the catalogue entries of the chosen practices.

    `crash` says what broke the suite outside any check, None when nothing did. A result that no entry planned is kept
    and can spoil a verdict, but cannot earn one.
    """
    checks = [results.get(entry.id) or not_run(entry) for entry in planned]
    plan = {entry.id for entry in planned}
    checks += [result for name, result in results.items() if name not in plan]
    stretched = [timeout for timeout in timeouts if timeout.exceeded]
    practices = []
    reasons: list[tuple[Verdict, str]] = []
    for practice in PRACTICES:
        of_practice = [check for check in checks if check.practice == practice]
        if not of_practice:
            continue
        if all(left_out(check) for check in of_practice):
            practices.append(_practice(practice, "not-judged", of_practice))
            continue
        found = [(verdict_allowed_by(check), _sentence(check)) for check in of_practice]
        if not any(check.outcome in ("passed", "failed") for check in of_practice if check.id in plan):
            found.append(("partial", f"{practice}: no check was executed"))
        reasons += [reason for reason in found if reason[0] != "conformant"]
        verdict = _worst(verdict for verdict, _ in found)
        practices.append(_practice(practice, _worst([verdict, "partial"]) if stretched else verdict, of_practice))
    reasons += [
        ("partial", f"timeout {t.name} was {t.used:g} s, a conformant run allows {t.conformant_maximum:g} s")
        for t in stretched
    ]
    if crash:
        reasons.append(("partial", f"the suite broke: {crash}"))
    if all(practice.verdict == "not-judged" for practice in practices):
        reasons.append(("partial", "no check was planned"))
    verdict = _worst(verdict for verdict, _ in reasons)
    broken = bool(crash) or any(check.outcome == "error" for check in checks)
    return Judgement(
        verdict=verdict,
        exit_code=_exit_code(verdict, broken),
        practices=tuple(practices),
        checks=tuple(checks),
        reasons=tuple(text for _, text in sorted(reasons, key=lambda reason: -VERDICTS.index(reason[0]))),
    )


def rejudge(report: Report, planned: Sequence[CatalogueEntry] | None = None) -> Judgement:
    """Judge the checks of a report again, against the plan or, without one, against themselves."""
    return judge(
        [_entry(check) for check in report.checks] if planned is None else planned,
        {check.id: check for check in report.checks},
        timeouts=report.timeouts,
        crash=report.crash,
    )


def verdict_allowed_by(check: CheckResult) -> Verdict:
    """The best verdict that this check alone still allows (the table above)."""
    if left_out(check):
        return "conformant"
    match check.outcome, check.level:
        case "passed", _:
            return "conformant"
        case "error" | "not-run", _:
            return "partial"
        case _, "advisory":
            return "conformant"
        case "failed", _:
            return "non-conformant"
        case "not-supported" | "not-applicable", "extended":
            return "conformant"
    return "partial"


def left_out(check: CheckResult) -> bool:
    """Whether the mode of the run left a check out of the plan."""
    return not check.planned and check.outcome == "not-applicable"


def not_run(entry: CatalogueEntry, reason: str | None = None) -> CheckResult:
    """The result of a check that was planned and never reported."""
    return CheckResult(
        id=entry.id,
        practice=entry.practice,
        claim=entry.claim,
        level=entry.level,
        source=entry.source,
        features=entry.features,
        outcome="not-run",
        reason=reason,
    )


def _practice(name: Practice, verdict: PracticeVerdict, checks: Sequence[CheckResult]) -> PracticeResult:
    counts = {outcome: sum(check.outcome == outcome for check in checks) for outcome in OUTCOMES}
    return PracticeResult(name=name, verdict=verdict, counts=counts)


def _entry(check: CheckResult) -> CatalogueEntry:
    return CatalogueEntry(
        id=check.id,
        practice=check.practice,
        claim=check.claim,
        level=check.level,
        source=check.source,
        features=check.features,
    )


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=VERDICTS.index, default="conformant")


def _exit_code(verdict: Verdict, broken: bool) -> ExitCode:
    if verdict == "non-conformant":
        return 1
    if broken:
        return 4
    return 3 if verdict == "partial" else 0


def _sentence(check: CheckResult) -> str:
    because = check.reason or (check.failure.observed if check.failure else "")
    return f"{check.id} ({check.level}): {check.outcome}" + (f", {because}" if because else "")
