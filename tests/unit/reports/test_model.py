"""The shapes: strict in files, readable as promised, and published as a schema that is current."""

import json
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from reports.data import SCHEMA, UnreadableReport, load_report, schema, to_json, to_yaml
from reports.model import (
    CatalogueEntry,
    CatalogueError,
    CheckResult,
    Measurement,
    Report,
    catalogue_sha256,
    load_catalogue,
)


def test_the_committed_schema_is_current() -> None:
    assert SCHEMA.read_text() == schema(), f"run `python -m reports schema > reports/{SCHEMA.name}`"


def test_yaml_and_json_hold_the_same_and_come_back(report: Report, tmp_path: Path) -> None:
    for name, text in (("r.yaml", to_yaml(report)), ("r.json", to_json(report))):
        (tmp_path / name).write_text(text)
        assert load_report(tmp_path / name) == report
    assert yaml.safe_load(to_yaml(report)) == json.loads(to_json(report))


def test_keys_are_camel_case(report: Report) -> None:
    content = json.loads(to_json(report))
    assert content["apiVersion"] == "dra.conformance/v1alpha1"
    assert content["kind"] == "ConformanceReport"
    assert content["metadata"]["catalogueSHA256"] == report.metadata.catalogue_sha256
    assert content["timeouts"][0] == {"name": "claim-prepared", "used": 60, "conformantMaximum": 30, "exceeded": True}
    assert content["cluster"]["resourceVersions"] == ["v1", "v1beta2"]


def test_a_report_lies_in_the_directory_of_its_run(report: Report, tmp_path: Path) -> None:
    (tmp_path / "conformance-report.yaml").write_text(to_yaml(report))
    assert load_report(tmp_path) == report


def test_texts_of_several_lines_are_blocks_in_yaml(report: Report) -> None:
    assert "context: |" in to_yaml(report)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("verdict: [", "neither YAML nor JSON"),
        ("just text", "document"),
        ("", "document"),
        ("kind: Pod", "kind"),
        ("verdct: partial", "verdct: Extra inputs are not permitted"),
        ("exitCode: 5", "exitCode"),
    ],
)
def test_what_is_no_report_is_told_by_place(content: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "report.yaml"
    file.write_text(content)
    with pytest.raises(UnreadableReport) as told:
        load_report(file)
    assert any(problem in line for line in told.value.problems)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../other", "a/../../b", "", "javascript:alert(1)", "C:/x", "a\\..\\b", "https://x/y"]
)
def test_files_stay_inside_the_run(path: str) -> None:
    with pytest.raises(ValidationError):
        CheckResult(id="rbac.a.b", practice="rbac", claim="", level="core", source="", outcome="passed", files=(path,))


@pytest.mark.parametrize("name", ["rbac", "rbac.a", "rbac.a.b.c", "Rbac.a.b", "rbac.a.-b", "rbac.a.b-", "rbac.a b.c"])
def test_ids_have_three_parts(name: str) -> None:
    with pytest.raises(ValidationError):
        CatalogueEntry(id=name, practice="rbac", claim="", level="core", source="")


def test_a_measurement_is_a_number() -> None:
    with pytest.raises(ValidationError):
        Measurement(name="p99", value=float("nan"), unit="s")


def test_a_catalogue_is_read_in_order(tmp_path: Path, entries: tuple[CatalogueEntry, ...]) -> None:
    file = tmp_path / "catalogue.yaml"
    file.write_text(yaml.safe_dump({"checks": [entry.model_dump(mode="json", by_alias=True) for entry in entries]}))
    assert load_catalogue(file) == entries
    assert len(catalogue_sha256(file)) == 64


ENTRY = "{id: rbac.a.b, practice: rbac, claim: c, level: core, source: GP-1}"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        ("[]", "checks"),
        ("checks: 3", "tuple"),
        ("checks: [{id: rbac.a.b}]", "practice"),
        (f"checks: [{ENTRY[:-1]}, levl: core}}]", "levl"),
        (f"checks: [{ENTRY}, {ENTRY}]", "more than once: rbac.a.b"),
        ("checks: [", "checks"),
    ],
)
def test_a_broken_catalogue_is_told_with_its_file(content: str | None, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "catalogue.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CatalogueError, match=r"catalogue\.yaml") as told:
        load_catalogue(file)
    assert problem in str(told.value)
