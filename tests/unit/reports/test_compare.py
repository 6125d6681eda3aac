"""`python -m reports`: the difference of two runs, and whether a report that somebody sent can be trusted."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from reports.__main__ import main
from reports.data import SCHEMA, to_json, to_yaml
from reports.diff import difference
from reports.model import OUTCOMES, CatalogueEntry, Report, catalogue_sha256
from reports.verdict import VERDICTS, rejudge
from reports.verify import Verification, verify


def changed(report: Report, outcomes: dict[str, str], **updates: Any) -> Report:
    """The report of a run with other outcomes, judged again."""
    checks = tuple(
        check.model_copy(update={"outcome": outcomes[check.id]}) if check.id in outcomes else check
        for check in report.checks
    )
    other = report.model_copy(update={"checks": checks, **updates})
    judgement = rejudge(other)
    return other.model_copy(
        update={
            "verdict": judgement.verdict,
            "exit_code": judgement.exit_code,
            "practices": judgement.practices,
        }
    )


def test_a_run_is_no_worse_than_itself(report: Report) -> None:
    found = difference(report, report)
    assert (found.worse, found.sections) == (False, {})


@pytest.mark.parametrize(
    ("check", "outcome", "section", "worse"),
    [
        ("rbac.operator.manages-claims", "failed", "new failures", True),
        ("rbac.operator.manages-claims", "error", "new failures", True),
        ("rbac.operator.manages-claims", "not-run", "newly not run", True),
        ("rbac.operator.manages-claims", "inconclusive", "newly without an answer", True),
        ("rbac.operator.manages-claims", "exempt", "newly without an answer", True),
        ("driver.slices.pool-per-node", "passed", "recovered", False),
        ("driver.slices.pool-per-node", "not-run", "newly not run", True),
        ("drain.order.driver-last", "passed", "", False),
        ("drain.order.driver-last", "failed", "new failures", True),
    ],
)
def test_each_change_has_its_place(report: Report, check: str, outcome: str, section: str, worse: bool) -> None:
    found = difference(report, changed(report, {check: outcome}))
    assert found.worse is worse
    assert [title for title in found.sections if title != "verdict"] == ([section] if section else [])
    if section:
        assert found.sections[section][0].startswith(f"{check}")


def test_an_advisory_failure_is_shown_and_makes_nothing_worse(report: Report) -> None:
    before = changed(report, {"rbac.audit.wildcards": "passed"})
    found = difference(before, report)
    assert not found.worse
    assert "rbac.audit.wildcards (advisory): passed -> failed" in found.sections["new failures"][0]


def test_checks_that_vanish_are_worse(report: Report) -> None:
    fewer = changed(report, {}, checks=report.checks[1:])
    found = difference(report, fewer)
    assert found.worse
    assert found.sections["no longer planned"] == ["rbac.operator.manages-claims: was passed"]
    assert not difference(fewer, report).worse


def test_measurements_drift_beyond_noise(report: Report) -> None:
    def measured(value: float) -> Report:
        (check,) = (check for check in report.checks if check.measurements)
        first, *rest = check.measurements
        now = check.model_copy(update={"measurements": (first.model_copy(update={"value": value}), *rest)})
        return report.model_copy(update={"checks": tuple(now if c.id == now.id else c for c in report.checks)})

    assert difference(report, measured(1.2)).sections == {}
    found = difference(report, measured(2.08))
    assert not found.worse
    assert found.sections["measurements that drifted"] == [
        "upgrade.seamless.new-pods-start: pod start, p99 1.04 -> 2.08 s (+100%)"
    ]
    assert "from nothing" in difference(measured(0), report).sections["measurements that drifted"][0]


def test_other_conditions_are_told(report: Report) -> None:
    cluster = report.cluster.model_copy(update={"server_version": "v1.36.0"})
    other = report.model_copy(update={"cluster": cluster, "options": {**report.options, "timeout-scale": "1"}})
    assert difference(report, other).sections["not the same conditions"] == [
        "Kubernetes: v1.37.2 -> v1.36.0",
        "option timeout-scale: 2 -> 1",
    ]


@pytest.mark.parametrize("seed", range(100))
def test_what_is_not_worse_has_lost_nothing(report: Report, seed: int) -> None:
    chance = random.Random(seed)
    before = changed(report, {check.id: chance.choice(OUTCOMES) for check in report.checks})
    moved = chance.sample([check.id for check in report.checks], chance.randrange(1, 4))
    after = changed(before, {name: chance.choice(OUTCOMES) for name in moved})
    if difference(before, after).worse:
        return
    assert VERDICTS.index(after.verdict) <= VERDICTS.index(before.verdict)
    for old, new in zip(before.checks, after.checks, strict=True):
        if old.outcome == "passed":
            assert new.outcome == "passed" or (new.outcome == "failed" and new.level == "advisory")
        if old.outcome == "failed":
            assert new.outcome in ("failed", "passed", "error")


# --- verify -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def catalogue(tmp_path: Path, entries: tuple[CatalogueEntry, ...]) -> Path:
    file = tmp_path / "catalogue.yaml"
    disturb = ("liveness.restart.hung",)
    checks = [entry.model_copy(update={"disruptive": entry.id in disturb}) for entry in entries]
    file.write_text(yaml.safe_dump({"checks": [entry.model_dump(mode="json", by_alias=True) for entry in checks]}))
    return file


@pytest.fixture
def honest(report: Report, catalogue: Path) -> dict[str, Any]:
    """The content of a report that holds against the catalogue."""
    digest = catalogue_sha256(catalogue)
    content = report.model_copy(
        update={"metadata": report.metadata.model_copy(update={"catalogue_sha256": digest})}
    ).model_dump(mode="json", by_alias=True, exclude_none=True)
    assert isinstance(content, dict)
    return content


def verified(content: dict[str, Any], catalogue: Path) -> Verification:
    file = catalogue.with_name("sent.json")
    file.write_text(json.dumps(content))
    return verify(file, catalogue)


def test_an_honest_report_holds(honest: dict[str, Any], catalogue: Path) -> None:
    found = verified(honest, catalogue)
    assert found.problems == ()
    assert any("covers: rbac, driver, upgrade" in note for note in found.notes)
    assert any("local edits" in note for note in found.notes)
    assert any("exempt by the operator's choice: upgrade.downtime.cleanup-delayed" in note for note in found.notes)


def check_in(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = next(check for check in content["checks"] if check["id"] == name)
    assert isinstance(found, dict)
    return found


def embellish_verdict(content: dict[str, Any]) -> None:
    content["verdict"], content["exitCode"] = "conformant", 0


def embellish_outcome(content: dict[str, Any]) -> None:
    check_in(content, "driver.slices.pool-per-node")["outcome"] = "passed"


def drop_a_check(content: dict[str, Any]) -> None:
    content["checks"].remove(check_in(content, "driver.slices.pool-per-node"))


def drop_a_practice(content: dict[str, Any]) -> None:
    content["practices"] = [practice for practice in content["practices"] if practice["name"] != "drain"]


def lower_a_level(content: dict[str, Any]) -> None:
    check_in(content, "driver.slices.pool-per-node")["level"] = "advisory"


def add_a_stranger(content: dict[str, Any]) -> None:
    content["checks"].append({**check_in(content, "scale.metrics.exposed"), "id": "scale.metrics.invented"})


def repeat_a_check(content: dict[str, Any]) -> None:
    content["checks"].append(check_in(content, "scale.metrics.exposed"))


def forget_a_reason(content: dict[str, Any]) -> None:
    del check_in(content, "upgrade.downtime.cleanup-delayed")["reason"]


def hide_a_timeout(content: dict[str, Any]) -> None:
    content["timeouts"][0]["exceeded"] = False


def other_catalogue(content: dict[str, Any]) -> None:
    content["metadata"]["catalogueSHA256"] = "0" * 64


def unknown_key(content: dict[str, Any]) -> None:
    content["verdikt"] = "conformant"


def turn_back_time(content: dict[str, Any]) -> None:
    content["metadata"]["finished"] = "2020-01-01T00:00:00Z"


def pass_without_running(content: dict[str, Any]) -> None:
    content["checks"][0].pop("started")


def leave_out(content: dict[str, Any], name: str = "liveness.restart.hung") -> None:
    """As a run that may not disturb an existing cluster leaves out checks that would."""
    content["options"] = {"cluster": "existing", "allow-disruptive": "False"}
    left = {"outcome": "not-applicable", "reason": "disturbs", "planned": False, "failure": None}
    check_in(content, name).update(left)


def leave_out_on_kind(content: dict[str, Any]) -> None:
    leave_out(content)
    content["options"]["cluster"] = "kind"


def leave_out_what_is_harmless(content: dict[str, Any]) -> None:
    leave_out(content, "driver.slices.pool-per-node")


def pass_unplanned(content: dict[str, Any]) -> None:
    leave_out(content)
    check_in(content, "liveness.restart.hung")["outcome"] = "passed"


def test_a_report_may_leave_out_what_would_disturb(honest: dict[str, Any], catalogue: Path) -> None:
    leave_out(honest)
    counts = next(p for p in honest["practices"] if p["name"] == "liveness")
    counts["counts"] |= {"inconclusive": 0, "not-applicable": 1}
    found = verified(honest, catalogue)
    assert found.problems == ()
    assert any("does not cover the 1 check that would have disturbed" in note for note in found.notes)


@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        (leave_out_on_kind, "liveness.restart.hung: was not planned, which neither the options nor the catalogue"),
        (leave_out_what_is_harmless, "driver.slices.pool-per-node: was not planned, which neither the options"),
        (pass_unplanned, "liveness.restart.hung: passed, though it was not planned"),
        (embellish_verdict, "the verdict says conformant, the checks add up to non-conformant"),
        (embellish_verdict, "the exit code says 0, the checks add up to 1"),
        (embellish_outcome, "practice driver: says non-conformant, its checks add up to partial"),
        (embellish_outcome, "practice driver: counts 1 failed, there are 0"),
        (embellish_outcome, "driver.slices.pool-per-node: passed, yet has a failure"),
        (drop_a_check, "driver.slices.pool-per-node: is planned, and not in the report"),
        (drop_a_practice, "drain.order.driver-last: is not in the catalogue"),
        (drop_a_practice, "practice drain: has checks, and no verdict"),
        (lower_a_level, "driver.slices.pool-per-node: level is 'advisory', the catalogue says 'core'"),
        (add_a_stranger, "scale.metrics.invented: is not in the catalogue"),
        (repeat_a_check, "scale.metrics.exposed: appears more than once"),
        (forget_a_reason, "upgrade.downtime.cleanup-delayed: exempt without a reason"),
        (hide_a_timeout, "timeout claim-prepared: 60 s of 30 s, yet exceeded is false"),
        (other_catalogue, "the report was judged by another catalogue (000000000000"),
        (unknown_key, "verdikt: Extra inputs are not permitted"),
        (turn_back_time, "the run finished before it started"),
        (pass_without_running, "rbac.operator.manages-claims: passed without having started"),
    ],
)
def test_what_is_wrong_is_said(tamper: Any, problem: str, honest: dict[str, Any], catalogue: Path) -> None:
    tamper(honest)
    found = verified(honest, catalogue)
    assert any(line.startswith(problem) for line in found.problems), found.problems


def test_without_a_catalogue_the_report_itself_is_verified(honest: dict[str, Any], catalogue: Path) -> None:
    nowhere = catalogue.with_name("nowhere.yaml")
    honest["metadata"]["catalogueSHA256"] = "0" * 64
    file = catalogue.with_name("sent.json")
    file.write_text(json.dumps(honest))
    found = verify(file, nowhere)
    assert found.problems == ()
    assert any("only the report itself" in note for note in found.notes)


# --- command line -----------------------------------------------------------------------------------------------------


def test_diff_on_the_command_line(report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(to_yaml(report))
    worse = changed(report, {"rbac.operator.manages-claims": "failed"})
    (tmp_path / "b.json").write_text(to_json(worse))
    assert main(["diff", str(tmp_path / "a.yaml"), str(tmp_path / "b.json")]) == 1
    assert "new failures:\n  rbac.operator.manages-claims: passed -> failed" in capsys.readouterr().out
    assert main(["diff", str(tmp_path / "b.json"), str(tmp_path / "a.yaml")]) == 0
    assert capsys.readouterr().out.endswith("not worse\n")


def test_verify_on_the_command_line(report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "conformance-report.json").write_text(to_json(report.model_copy(update={"verdict": "conformant"})))
    assert main(["verify", str(tmp_path)]) == 1
    assert "wrong: the verdict says conformant" in capsys.readouterr().out


@pytest.mark.parametrize("key", ["mismatches", "invariantViolations"])
def test_a_report_of_an_earlier_version_is_read_unless_a_key_that_is_no_more_says_something(
    key: str, honest: dict[str, Any], catalogue: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = honest | {"mismatches": [], "invariantViolations": []}
    assert verified(earlier, catalogue).problems == ()
    sent = str(catalogue.with_name("sent.json"))
    assert main(["diff", sent, sent]) == 0
    assert capsys.readouterr().out.endswith("not worse\n")
    assert verified(earlier | {key: ["a fact"]}, catalogue).problems == (f"{key}: Extra inputs are not permitted",)


def test_schema_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == SCHEMA.read_text()


@pytest.mark.parametrize(
    "arguments",
    [[], ["compare"], ["diff"], ["diff", "a"], ["verify"], ["verify", "no-such-file"], ["diff", "no", "such"]],
)
def test_usage_errors_exit_2_with_a_remedy(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    problem, remedy, *more = capsys.readouterr().err.splitlines()
    assert problem.startswith("error: ")
    assert remedy.startswith("remedy: ")
    assert not more


def test_diff_of_something_else_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod")
    with pytest.raises(SystemExit) as stop:
        main(["diff", str(tmp_path / "a.yaml"), str(tmp_path / "a.yaml")])
    assert stop.value.code == 2
    assert "is no report" in capsys.readouterr().err
