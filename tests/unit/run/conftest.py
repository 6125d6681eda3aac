"""Whole runs, from `pytest suites` to the report and the exit code, on a cluster of words.

All are started in the background, two at a time, since most of their time is Python starting.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures.catalogue import entries
from fixtures.check import collected
from reports.model import Report

PROJECT = Path(__file__).parent / "project"
ROOT = Path(__file__).parents[3]
SUITES = {
    "rbac": "outcomes",
    "drain": "healthy",
    "scale": "crash",
    "liveness": "interrupt",
    "upgrade": "death",
}
MIXED = (
    "--dra-practice=rbac",
    "--dra-driver=kubernetes-pydra",
    "--dra-exempt=rbac.ends.exempt=we have our own",
)
HEALTHY = ("--dra-practice=drain",)
# name: files of the project, options
RUNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "mixed": ((), (*MIXED, "-n0")),
    "mixed in parallel": ((), (*MIXED, "-n2")),
    "few rights": (("few-rights",), ("--dra-practice=rbac", "--dra-check=rbac.ends.refused,rbac.ends.raised", "-n0")),
    "healthy": (("no-end",), HEALTHY),
    "kept": ((), (*HEALTHY, "--dra-keep=always", "--dra-check=drain.order.kept", "-n1")),
    "deselected": ((), (*HEALTHY, "-k", "kept", "--dra-keep=on-failure")),
    "patient": ((), (*HEALTHY, "--dra-timeout-scale=2")),
    "crash": ((), ("--dra-practice=scale", "-n2")),
    "SIGTERM": ((), ("--dra-practice=liveness", "--dra-report-dir=out/SIGTERM")),
    "SIGINT in parallel": ((), ("--dra-practice=liveness", "--dra-report-dir=out/SIGINT", "-n1")),
    "death": ((), ("--dra-practice=upgrade",)),
    "no engine": (("no-engine",), HEALTHY),
    "no access": (("no-access",), HEALTHY),
    "no patience": (("no-patience",), HEALTHY),
    "no worker": ((), (*HEALTHY, "--dist=load", "--tx=popen//python=no-such-python")),
    "broken suite": (("suites/drain/test_broken.py",), HEALTHY),
    "inside another": (("outer",), HEALTHY),
}


@dataclass(frozen=True)
class Run:
    code: int
    said: str
    project: Path

    @property
    def cluster(self) -> list[str]:
        return (self.project / "cluster.log").read_text().splitlines()

    @property
    def written(self) -> list[Path]:
        return list(self.project.rglob("conformance-report.json"))

    @property
    def report(self) -> Report:
        (file,) = self.written
        report = Report.model_validate_json(file.read_text())
        assert report.exit_code == self.code
        assert f"verdict: {report.verdict}" in self.said
        return report

    def outcomes(self) -> dict[str, str]:
        return {check.id.rpartition(".")[2]: check.outcome for check in self.report.checks}


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Run]]:
    template = tmp_path_factory.mktemp("template")
    for practice, module in SUITES.items():
        (template / "suites" / practice).mkdir(parents=True)
        shutil.copy(PROJECT / f"{module}.py", template / "suites" / practice / f"test_{module}.py")
    shutil.copy(PROJECT / "place.py", template / "conftest.py")
    shutil.copy(ROOT / "pyproject.toml", template)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collected, "SUITES", template / "suites")
        (template / "suites" / "catalogue.yaml").write_text(entries.text())

    def run(name: str) -> Run:
        files, options = RUNS[name]
        project = tmp_path_factory.mktemp("run") / "project"
        shutil.copytree(template, project)
        for file in files:
            (project / file).write_text("this is broken")
        (project / "tmp").mkdir()
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRA_", "PYTEST_"))}
        environment |= {"TMPDIR": str(project / "tmp"), "PYTHONPATH": str(ROOT)}
        if "outer" in files:
            environment["DRA_SESSION_DIR"] = str(project / "session")
        where = () if any(option.startswith("--dra-report-dir") for option in options) else ("--dra-report-dir=out",)
        command = [sys.executable, "-m", "pytest", "suites", "-p", "no:cacheprovider", *where, *options]
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        return Run(done.returncode, done.stdout + done.stderr, project)

    with ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(run, name) for name in RUNS}

        def result(name: str) -> Run:
            done = runs[name].result()
            print(done.said[-20000:])
            return done

        yield result
        pool.shutdown(cancel_futures=True)
