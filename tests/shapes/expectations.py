"""What a run of the suite on a shape is expected to find that is not a pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from reports.model import CheckResult
from tests.shapes.layout import HERE


@dataclass(frozen=True)
class Expected:
    """Outcomes by pattern of check ids, each with a regular expression for what is said; and the taint of the nodes."""

    outcomes: dict[str, tuple[str, str]]
    taint: str | None = None

    @classmethod
    def of(cls, shape: str) -> Expected:
        """What is expected of each shape, and of this one."""
        common, own = _read(HERE / "expected.yaml"), _read(HERE / shape / "expected.yaml")
        outcomes = {id: (e["outcome"], e["says"]) for id, e in (common["outcomes"] | own["outcomes"]).items()}  # noqa: A001
        return cls(outcomes, own.get("taint"))

    def surprises(self, checks: Iterable[CheckResult]) -> list[str]:
        """Where a run differs, as sentences: other outcomes, other reasons, and what was expected but passed."""
        return list(self._surprises(tuple(checks)))

    def _surprises(self, checks: tuple[CheckResult, ...]) -> Iterator[str]:
        met = set()
        for check in checks:
            patterns = [pattern for pattern in self.outcomes if fnmatchcase(check.id, pattern)]
            met |= set(patterns)
            wanted, says = self.outcomes[patterns[0]] if patterns else ("passed", "")
            said = f"{check.reason or ''} {check.failure.observed if check.failure else ''}".strip()
            if check.outcome != wanted or not re.search(says, said):
                yield f"{check.id}: {check.outcome} ({said}), not {wanted} ({says})"
        yield from (f"{pattern}: no check of such an id was run" for pattern in self.outcomes.keys() - met)


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(file.read_text())
    return content
