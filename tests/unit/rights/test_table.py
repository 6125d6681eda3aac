"""The table of rights: how a run becomes rows, what a check needs in all, and that the committed one is whole."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml

from drivers.loading import load
from fixtures.check.collected import FILE as CATALOGUE
from fixtures.check.collected import checks, node_ids
from fixtures.kube.api import Kube
from fixtures.rights import __main__ as command
from fixtures.rights.record import updated, used_rights
from fixtures.rights.review import missing
from fixtures.rights.right import Right
from fixtures.rights.table import Table, given_to, needs
from reports.model import load_catalogue

DRA = "resource.k8s.io"
OPERATOR = "rbac.operator.manages-claims"
PLACES = {check: place for place, check in node_ids().items()}


def rights(*texts: str) -> frozenset[Right]:
    return frozenset(map(Right.parse, texts))


def line(path: str, check: str = "", agent: str = "dra-conformance/x", **more: Any) -> dict[str, Any]:
    row = {"agent": agent, "test": PLACES.get(check, check), "method": "get", "path": path}
    return {**row, "watch": False, "apply": False, "body": {}, **more}


def test_every_check_has_its_place() -> None:
    assert PLACES.keys() == {check.id for check, _ in checks()}
    assert PLACES[OPERATOR] == "suites/rbac/test_operator.py::test_manages_claims"


def test_requests_outside_checks_and_the_recorders_are_the_runs() -> None:
    rows = [
        line("/api/v1/nodes"),
        line("/api/v1/pods", OPERATOR, agent="dra-conformance/recorder"),
        line("/api/v1/namespaces/ns/pods/p/log", OPERATOR),
    ]
    assert used_rights(rows) == {"": rights("list nodes", "list pods"), OPERATOR: rights("get pods/log")}


def test_a_run_changes_the_rows_of_what_passed_and_tells_what_explaining_takes() -> None:
    other, gone = "driver.slices.published", "rbac.no.more"
    known = Table(
        rights("list nodes"),
        rights("get events"),
        {OPERATOR: rights("get pods"), other: rights("list nodes", "get pods"), gone: rights("get pods")},
    )
    rows = [
        line("/api/v1/configmaps"),
        line("/api/v1/configmaps", OPERATOR),
        line("/api/v1/secrets", OPERATOR),
        line("/api/v1/namespaces/ns/pods/p", other),
        line("/api/v1/events", other),
    ]
    assert updated(known, rows, {OPERATOR: "passed", other: "failed"}) == Table(
        rights("list nodes", "list configmaps"),
        rights("get events", "list events"),
        {OPERATOR: rights("list secrets"), other: rights("list nodes", "get pods")},
    )


def test_a_run_of_some_practices_keeps_the_rows_of_the_others() -> None:
    known = Table(rights(), rights(), {"driver.slices.published": rights("get pods")})
    found = updated(known, [line("/api/v1/secrets", OPERATOR)], {OPERATOR: "passed"})
    assert found.checks == {**known.checks, OPERATOR: rights("list secrets")}


def test_that_agents_are_tried_is_a_right_of_checks_that_disturb() -> None:
    rows = [
        line("/apis/apps/v1/namespaces/ns/daemonsets", method="post"),
        line("/api/v1/namespaces/ns/pods/p/exec"),
        line("/api/v1/nodes"),
        line("/api/v1/secrets", OPERATOR),
    ]
    table = Table(rights(), rights(), {})
    found = updated(table, rows, {OPERATOR: "passed"}, disruptive={OPERATOR})
    assert found.run == rights("list nodes")
    assert found.checks == {OPERATOR: rights("list secrets", "create daemonsets.apps", "get pods/exec")}
    harmless = updated(table, rows, {OPERATOR: "passed"})
    assert (harmless.run, harmless.checks) == (rights("list nodes"), {OPERATOR: rights("list secrets")})


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = Table(rights("list nodes"), rights("list events", "list nodes"), {"b": rights("get pods"), "a": rights()})
    table.write(tmp_path / "rights.yaml")
    read = Table.load(tmp_path / "rights.yaml")
    assert read == Table(table.run, rights("list events"), table.checks)
    assert list(yaml.safe_load((tmp_path / "rights.yaml").read_text())["checks"]) == ["a", "b"]


def test_who_installs_a_driver_must_have_what_the_driver_is_given() -> None:
    installs = "patch clusterroles.rbac.authorization.k8s.io"
    table = Table(rights("list nodes"), rights(), {"x": rights(installs), "y": rights("get pods")})
    fake = load("fake")
    assert rights(f"create resourceslices.{DRA}", f"get resourceclaims.{DRA}") <= given_to(fake)
    assert needs(table, "x", fake) == rights("list nodes", installs) | given_to(fake)
    assert needs(table, "y", fake) == rights("list nodes", "get pods")
    assert needs(table, "new", fake) == rights("list nodes")


class Judge(Kube):
    """Allows some rights; notes what is asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = rights(*allowed)
        self.asked: list[Right] = []

    def post(self, path: str, body: dict[str, Any], *, retry: bool = True) -> dict[str, Any]:
        assert retry
        assert path.endswith("/selfsubjectaccessreviews")
        spec = body["spec"]
        if "nonResourceAttributes" in spec:
            right = Right(spec["nonResourceAttributes"]["verb"], "", spec["nonResourceAttributes"]["path"])
        else:
            right = Right(**spec["resourceAttributes"])
        self.asked.append(right)
        return {"status": {"allowed": right in self.allowed}}


def test_the_runner_is_asked_for_each_right_once() -> None:
    judge = Judge("list nodes", "get /metrics")
    wanted = rights("list nodes", "get pods/log", "get /metrics", "bind clusterroles.g edit")
    assert missing(judge, wanted) == rights("get pods/log", "bind clusterroles.g edit")
    assert sorted(judge.asked[1:]) == sorted(wanted)


def test_who_may_do_everything_is_asked_nothing_more() -> None:
    judge = Judge("* *.*")
    assert missing(judge, rights("list nodes", "get pods")) == frozenset()
    assert len(judge.asked) == 1


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert command.main(list(words)) == 0
    role: dict[str, Any] = yaml.safe_load(io.StringIO(capsys.readouterr().out))
    return role


def test_the_smallest_role_grows_with_what_is_chosen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = load_catalogue(CATALOGUE)
    disruptive = next(entry.id for entry in entries if entry.disruptive and entry.practice == "drain")
    rows = {entry.id: rights() for entry in entries} | {OPERATOR: rights("create pods")}
    table = Table(rights("list nodes"), rights("list events"), rows | {disruptive: rights("patch nodes")})
    monkeypatch.setattr(Table, "load", lambda: table)
    assert printed(capsys, "--practice=rbac")["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["events", "nodes"], "verbs": ["list"]},
    ]
    assert "patch" not in str(printed(capsys, "--practice=drain"))
    assert "patch" in str(printed(capsys, "--practice=drain", "--disruptive"))
    assert "patch" not in str(printed(capsys, "--disruptive", f"--check={OPERATOR}"))
    assert printed(capsys, "--name=other")["metadata"]["name"] == "other"


def test_no_role_is_printed_that_may_be_too_small(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Table, "load", lambda: Table(rights("list nodes"), rights(), {}))
    assert command.main([f"--check={OPERATOR}"]) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert f"of 1 chosen checks it is not recorded what they need: {OPERATOR}" in said
    assert said.endswith("Remedy: python -m fixtures.rights --record\n")


def test_the_committed_table_has_no_row_of_a_check_that_is_no_more() -> None:
    assert Table.load().checks.keys() <= {check.id for check, _ in checks()}


@pytest.mark.parametrize("words", [["--practice=rbca"], ["--check=rbac.x"], ["--driver=nosuch"]])
def test_wrong_words_are_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 2
    assert "unknown" in capsys.readouterr().err
