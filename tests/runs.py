"""Runs of the suite, started as a user would, and how they ended."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fixtures.check.collected import SUITES
from reports.model import Report

RUN_LIMIT = 3600


@dataclass(frozen=True)
class Done:
    """How a run of the suite ended: exit code, what it said, and its report, if it wrote one."""

    code: int
    said: str
    report: Report | None

    def outcomes(self) -> dict[str, str]:
        assert self.report
        return {check.id: check.outcome for check in self.report.checks}


@dataclass(frozen=True)
class Suite:
    """Starts runs as a user would, each with the same `options`; their reports go to `directory`."""

    directory: Path
    options: tuple[str, ...] = ()

    def start(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "pytest", str(SUITES), "-p", "no:cacheprovider", *self.options]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DRA_", "KUBECONFIG"))}
        return subprocess.Popen(
            [*words, f"--dra-report-dir={self.directory}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean | environment,
            cwd=SUITES.parent,
        )

    def run(self, *options: str, **environment: str) -> Done:
        return self.end(self.start(*options, **environment))

    def end(self, process: subprocess.Popen[str]) -> Done:
        said, _ = process.communicate(timeout=RUN_LIMIT)
        print(said[-20000:])
        written = sorted(self.directory.glob("*/conformance-report.json"))
        report = Report.model_validate_json(written[-1].read_text()) if written else None
        return Done(process.returncode, said, report)
