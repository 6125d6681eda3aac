"""The shapes under tests/shapes: each can be read, and what is expected of it is compared with what a run says."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.loading import load
from fixtures.check.collected import FILE
from reports.model import CheckResult, Failure, Outcome, load_catalogue
from tests.shapes.expectations import Expected
from tests.shapes.layout import SHAPES, lay_out


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return lay_out(tmp_path_factory.mktemp("shapes") / "all")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_manifest_of_a_shape_loads(shape: str, manifests: dict[str, Path]) -> None:
    manifest = load(str(manifests[shape]))
    assert manifest.shared
    assert not manifest.preinstalled
    assert manifest.implementation.project == f"shape {shape}"
    assert manifest.upgrade is not None


def test_no_two_shapes_meet_in_a_cluster(manifests: dict[str, Path]) -> None:
    loaded = [load(str(manifest)) for manifest in manifests.values()]
    for names in ([m.name for m in loaded], [m.workload.namespace for m in loaded]):
        assert len(set(names)) == len(SHAPES)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_expected_of_a_shape_names_checks_that_there_are(shape: str) -> None:
    checks = [_result(entry.id, "passed") for entry in load_catalogue(FILE)]
    assert not [text for text in Expected.of(shape).surprises(checks) if "no check of such an id" in text]


def test_a_run_that_finds_something_else_is_told() -> None:
    expected = Expected({"a.b.*": ("failed", "no probe"), "c.d.e": ("not-supported", ""), "x.y.z": ("failed", "")})
    checks = [
        _result("a.b.c", "failed", "there is no probe at all"),
        _result("a.b.d", "failed", "something else"),
        _result("c.d.e", "passed"),
        _result("c.d.f", "error"),
        _result("c.d.g", "passed"),
    ]
    assert expected.surprises(checks) == [
        "a.b.d: failed (something else), not failed (no probe)",
        "c.d.e: passed (), not not-supported ()",
        "c.d.f: error (), not passed ()",
        "x.y.z: no check of such an id was run",
    ]


def _result(name: str, outcome: Outcome, observed: str = "") -> CheckResult:
    failure = Failure(expected="", observed=observed) if observed else None
    return CheckResult(id=name, practice="driver", claim="", level="core", source="", outcome=outcome, failure=failure)
