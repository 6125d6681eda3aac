"""The JSON Schema of driver manifests, for editors and for whoever writes manifests by program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from drivers.manifest import DriverManifest

FILE = Path(__file__).parents[1] / "driver-manifest.schema.json"


class _Untitled(GenerateJsonSchema):
    """Without titles of keys, which say no more than the keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def text() -> str:
    """The schema as the committed file has it."""
    schema = DriverManifest.model_json_schema(by_alias=True, schema_generator=_Untitled)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Driver manifest of dra-conformance"}
    return json.dumps({**head, **{key: value for key, value in schema.items() if key not in head}}, indent=2) + "\n"
