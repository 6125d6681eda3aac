"""The report as data: YAML, JSON, and the schema of both."""

import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from reports.model import Report, describe_errors

JSON_NAME = "conformance-report.json"
YAML_NAME = "conformance-report.yaml"
_DROPPED = ("mismatches", "invariantViolations")
SCHEMA = Path(__file__).with_name("conformance-report.schema.json")


class UnreadableReport(Exception):
    """A file is no report; `problems` has one line per fault."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def to_json(report: Report) -> str:
    """The report as JSON, keys in the order of the model, facts that are not known left out."""
    return json.dumps(_content(report), indent=2, ensure_ascii=False) + "\n"


def to_yaml(report: Report) -> str:
    """The same as YAML; texts of several lines stay readable as blocks."""
    return yaml.dump(_content(report), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def load_report(path: Path) -> Report:
    """Read a report file (YAML, and JSON is YAML), or the report in the directory of a run.

    Raises OSError when there is none, UnreadableReport when it is not a valid one.
    """
    if path.is_dir():
        path = next((path / name for name in (JSON_NAME, YAML_NAME) if (path / name).exists()), path / JSON_NAME)
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        return Report.model_validate(_without_dropped_keys(content))
    except ValidationError as error:
        raise UnreadableReport(describe_errors(error)) from error
    except (ValueError, yaml.YAMLError) as error:
        raise UnreadableReport([f"neither YAML nor JSON: {' '.join(str(error).split())}"]) from error


def _without_dropped_keys(content: object) -> object:
    """The content of a report without the keys that the model has no more.

    Earlier versions wrote them into every report, always as empty lists. With something in it a key stays, and is an
    error as any other that is unknown: nothing that a report says goes unseen.
    """
    if not isinstance(content, dict):
        return content
    return {key: value for key, value in content.items() if not (key in _DROPPED and value == [])}


def schema() -> str:
    """The JSON schema of a report, as committed beside this module."""
    return json.dumps(Report.model_json_schema(), indent=2) + "\n"


def _content(report: Report) -> dict[str, Any]:
    return report.model_dump(mode="json", by_alias=True, exclude_none=True)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)
