"""The JSON Schema of driver manifests is that of the model, and the catalog's files name it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drivers.loading import CATALOG, known_drivers
from drivers.manifest import DriverManifest, schema
from drivers.manifest.__main__ import main


def test_the_committed_schema_is_that_of_the_model() -> None:
    assert schema.FILE.read_text() == schema.text(), "run `python -m drivers.manifest --schema`"


def test_the_schema_has_the_keys_as_they_are_written_and_no_others() -> None:
    known = json.loads(schema.text())
    assert {"apiVersion", "claim", "devicesPerNode", "kubeletRoot"} <= known["properties"].keys()
    assert len(known["properties"]) == len(DriverManifest.model_fields)
    assert known["additionalProperties"] is False
    assert "title" not in known["properties"]["name"]


@pytest.mark.parametrize("name", known_drivers())
def test_a_file_of_the_catalog_names_the_schema(name: str) -> None:
    line = next(line for line in (CATALOG / f"{name}.yaml").read_text().splitlines() if "$schema" in line)
    assert (CATALOG / line.partition("$schema=")[2]).resolve() == schema.FILE.resolve()


def test_a_command_writes_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "schema.json"
    assert main(["--schema", f"--output={file}"]) == 0
    assert file.read_text() == schema.text()
    assert capsys.readouterr().err == f"wrote {file}\n"
