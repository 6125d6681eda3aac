"""The verdict: each rule once, then random runs against the promises that no rule may break."""

import itertools
import random

import pytest

from reports.model import OUTCOMES, PRACTICES, CatalogueEntry, CheckResult, Level, Outcome, TimeoutUse, Verdict
from reports.verdict import Judgement, judge, not_run

LEVELS: tuple[Level, ...] = ("core", "extended", "advisory")


def entry(name: str, level: Level = "core") -> CatalogueEntry:
    practice = next(practice for practice in PRACTICES if name.startswith(practice))
    return CatalogueEntry(id=name, practice=practice, claim="It holds.", level=level, source="GP-1", saboteurs=("s",))


def result(of: CatalogueEntry, outcome: Outcome) -> CheckResult:
    return not_run(of).model_copy(update={"outcome": outcome})


def judged(*pairs: tuple[Level, Outcome]) -> tuple[Verdict, int]:
    plan = [entry(f"rbac.operator.check-{number}", level) for number, (level, _) in enumerate(pairs)]
    results = {of.id: result(of, outcome) for of, (_, outcome) in zip(plan, pairs, strict=True)}
    judgement = judge(plan, results)
    return judgement.verdict, judgement.exit_code


@pytest.mark.parametrize(
    ("outcome", "level", "expected"),
    [
        ("passed", "core", ("conformant", 0)),
        ("passed", "extended", ("conformant", 0)),
        ("passed", "advisory", ("conformant", 0)),
        ("failed", "core", ("non-conformant", 1)),
        ("failed", "extended", ("non-conformant", 1)),
        ("failed", "advisory", ("conformant", 0)),
        ("error", "core", ("partial", 4)),
        ("error", "extended", ("partial", 4)),
        ("error", "advisory", ("partial", 4)),
        ("inconclusive", "core", ("partial", 3)),
        ("inconclusive", "extended", ("partial", 3)),
        ("inconclusive", "advisory", ("conformant", 0)),
        ("not-supported", "core", ("partial", 3)),
        ("not-supported", "extended", ("conformant", 0)),
        ("not-supported", "advisory", ("conformant", 0)),
        ("not-applicable", "core", ("partial", 3)),
        ("not-applicable", "extended", ("conformant", 0)),
        ("not-applicable", "advisory", ("conformant", 0)),
        ("exempt", "core", ("partial", 3)),
        ("exempt", "extended", ("partial", 3)),
        ("exempt", "advisory", ("conformant", 0)),
        ("not-run", "core", ("partial", 3)),
        ("not-run", "extended", ("partial", 3)),
        ("not-run", "advisory", ("partial", 3)),
    ],
)
def test_one_check_beside_a_passed_one(outcome: Outcome, level: Level, expected: tuple[Verdict, int]) -> None:
    assert judged(("core", "passed"), (level, outcome)) == expected


def test_a_failure_beats_an_error_and_an_error_beats_partial() -> None:
    assert judged(("core", "failed"), ("core", "error"), ("core", "not-run")) == ("non-conformant", 1)
    assert judged(("core", "passed"), ("core", "error"), ("core", "not-run")) == ("partial", 4)


def test_a_missing_result_is_not_run_and_keeps_what_the_catalogue_says() -> None:
    plan = [entry("drain.order.driver-last"), entry("scale.metrics.exposed", "extended")]
    judgement = judge(plan, {plan[0].id: result(plan[0], "passed")})
    assert [(check.id, check.outcome) for check in judgement.checks] == [
        ("drain.order.driver-last", "passed"),
        ("scale.metrics.exposed", "not-run"),
    ]
    assert judgement.checks[1].level == "extended"
    assert [(practice.name, practice.verdict) for practice in judgement.practices] == [
        ("drain", "conformant"),
        ("scale", "partial"),
    ]
    assert judgement.practices[1].counts["not-run"] == 1
    assert (judgement.verdict, judgement.exit_code) == ("partial", 3)
    assert any("scale.metrics.exposed" in reason for reason in judgement.reasons)


def test_an_empty_plan_is_never_conformant() -> None:
    assert judge([], {}).verdict == "partial"


def test_nothing_executed_is_never_conformant() -> None:
    assert judged(("extended", "not-supported"), ("extended", "not-applicable")) == ("partial", 3)


def left_out_of(*practices: str, judged: Outcome | None = "passed") -> Judgement:
    """A run with one check that is judged, and one in each practice that the mode leaves out."""
    plan = [entry(f"{practice}.aspect.disturbing") for practice in practices]
    results = {of.id: result(of, "not-applicable").model_copy(update={"planned": False}) for of in plan}
    if judged:
        plan.append(entry("rbac.operator.manages-claims"))
        results[plan[-1].id] = result(plan[-1], judged)
    return judge(plan, results)


def test_what_the_mode_leaves_out_is_not_covered_by_the_verdict() -> None:
    judgement = left_out_of("rbac", "upgrade")
    assert (judgement.verdict, judgement.exit_code, judgement.reasons) == ("conformant", 0, ())
    assert [(p.name, p.verdict) for p in judgement.practices] == [("rbac", "conformant"), ("upgrade", "not-judged")]
    assert judgement.practices[1].counts["not-applicable"] == 1
    assert len(judgement.checks) == 3


def test_what_the_mode_leaves_out_earns_nothing() -> None:
    assert left_out_of("rbac", judged="failed").verdict == "non-conformant"
    assert left_out_of("rbac", judged="not-applicable").verdict == "partial"
    assert left_out_of("rbac", "drain", judged=None).verdict == "partial"


@pytest.mark.parametrize("outcome", [outcome for outcome in OUTCOMES if outcome not in ("passed", "not-applicable")])
def test_only_what_was_not_made_can_be_left_out(outcome: Outcome) -> None:
    plan = [entry("rbac.operator.one"), entry("rbac.operator.two")]
    odd = result(plan[1], outcome).model_copy(update={"planned": False})
    assert judge(plan, {plan[0].id: result(plan[0], "passed"), odd.id: odd}).verdict != "conformant"


def test_a_result_outside_the_plan_is_kept_but_earns_nothing() -> None:
    stranger = entry("rbac.operator.stranger")
    kept = judge([], {stranger.id: result(stranger, "passed")})
    assert (kept.verdict, [check.id for check in kept.checks]) == ("partial", [stranger.id])
    assert judge([], {stranger.id: result(stranger, "failed")}).verdict == "non-conformant"


def test_timeouts_beyond_their_maximum_cost_the_conformant() -> None:
    plan = [entry("rbac.operator.manages-claims")]
    results = {plan[0].id: result(plan[0], "passed")}
    stretched = TimeoutUse(name="claim-prepared", used=60, conformant_maximum=30, exceeded=True)
    within = TimeoutUse(name="claim-prepared", used=30, conformant_maximum=30, exceeded=False)
    assert judge(plan, results, timeouts=[within]).verdict == "conformant"
    judgement = judge(plan, results, timeouts=[stretched])
    assert (judgement.verdict, judgement.exit_code) == ("partial", 3)
    assert judgement.practices[0].verdict == "partial"
    failed = judge(plan, {plan[0].id: result(plan[0], "failed")}, timeouts=[stretched])
    assert failed.practices[0].verdict == "non-conformant"


def test_a_crash_is_the_suite_that_broke() -> None:
    plan = [entry("rbac.operator.manages-claims")]
    crashed = judge(plan, {plan[0].id: result(plan[0], "passed")}, crash="the cluster went away")
    assert (crashed.verdict, crashed.exit_code) == ("partial", 4)
    failed_before = judge(plan, {plan[0].id: result(plan[0], "failed")}, crash="the cluster went away")
    assert (failed_before.verdict, failed_before.exit_code) == ("non-conformant", 1)


def test_reasons_are_empty_exactly_when_conformant() -> None:
    for first, second in itertools.product(OUTCOMES, repeat=2):
        plan = [entry("rbac.operator.one"), entry("driver.slices.two", "extended")]
        judgement = judge(plan, {plan[0].id: result(plan[0], first), plan[1].id: result(plan[1], second)})
        assert bool(judgement.reasons) == (judgement.verdict != "conformant")


@pytest.mark.parametrize("seed", range(300))
def test_no_run_becomes_conformant_with_a_core_check_missing(seed: int) -> None:
    chance = random.Random(seed)
    plan = [
        entry(f"{chance.choice(PRACTICES)}.aspect.check-{number}", chance.choice(LEVELS))
        for number in range(chance.randrange(0, 12))
    ]
    # Mostly passed, so that the conformant half of the space is reached and not only the broken one.
    likely: list[Outcome] = [*OUTCOMES, *(OUTCOMES[:1] * 30)]
    results = {of.id: result(of, chance.choice(likely)) for of in plan if chance.random() < 0.95}
    crash = "worker lost" if chance.random() < 0.05 else None
    judgement = judge(plan, results, crash=crash)

    assert {check.id for check in judgement.checks} == {of.id for of in plan}
    assert sum(sum(practice.counts.values()) for practice in judgement.practices) == len(plan)
    assert {0: "conformant", 1: "non-conformant", 3: "partial", 4: "partial"}[judgement.exit_code] == judgement.verdict
    if judgement.verdict == "conformant":
        assert plan
        assert crash is None
        assert all(of.id in results for of in plan)
        assert all(results[of.id].outcome == "passed" for of in plan if of.level == "core")
        assert all(practice.verdict == "conformant" for practice in judgement.practices)

    for core in (of for of in plan if of.level == "core"):
        without = {name: value for name, value in results.items() if name != core.id}
        assert judge(plan, without).verdict != "conformant"
