"""Write a report in all its forms. What one writer cannot do, the others still do."""

import os
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports import allure, data
from reports.html import to_html
from reports.junit import to_junit
from reports.model import Report
from reports.redact import redact
from reports.summary import to_markdown

# The data first: when the disk fills up or the run is killed, it is what everything else can be made from again.
_WRITERS: dict[str, Callable[[Report, Path], str]] = {
    data.JSON_NAME: lambda report, _: data.to_json(report),
    data.YAML_NAME: lambda report, _: data.to_yaml(report),
    "summary.md": lambda report, _: to_markdown(report),
    "junit.xml": lambda report, _: to_junit(report),
    "index.html": to_html,
    "allure-results/environment.properties": lambda report, _: allure.environment(report),
    "allure-results/categories.json": lambda report, _: allure.categories(report),
    "allure-results/executor.json": lambda report, _: allure.executor(report),
}
PROBLEMS_NAME = "write-errors.txt"


def write_report(report: Report, directory: Path) -> list[str]:
    """Write every form of the report into the directory of the run, each file whole or not at all, secrets taken out.

    Returns one line per file that could not be written, with details in `write-errors.txt`, and does not raise: a page
    that cannot be drawn must not cost the verdict.
    """
    clean = redacted(report)
    problems, details = [], []
    for name, render in _WRITERS.items():
        try:
            write_text(directory / name, render(clean, directory))
        except Exception as error:  # noqa: BLE001 - whatever one writer stumbles over, the others still write
            problems.append(f"{name}: {type(error).__name__}: {error}")
            details.append(f"{name}\n{traceback.format_exc()}")
    if details:
        try:
            write_text(directory / PROBLEMS_NAME, redact("\n".join(details)))
        except OSError as error:
            problems.append(f"{PROBLEMS_NAME}: {error}")
    return problems


def redacted(report: Report) -> Report:
    """The report with every text fit to leave."""
    return Report.model_validate(_redact_all(report.model_dump()))


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: a reader, or a second run, never sees half of it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _redact_all(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redact_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_redact_all(item) for item in value)
    return value
