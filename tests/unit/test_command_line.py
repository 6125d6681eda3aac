"""`pytest suites` as users start it: wrong options end it with exit code 2, and collecting needs nothing around it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fixtures.check.collected import FILE
from reports.model import load_catalogue

ROOT = FILE.parents[1]
OFFLINE = """
import socket, subprocess

def refuse(*words, **_):
    raise RuntimeError(f"collecting must not reach out: {words}")

socket.socket.connect = refuse
subprocess.Popen.__init__ = refuse
"""
WRONG = {
    "driver": (
        "--dra-driver=fakee",
        "unknown driver 'fakee': neither a file nor one of fake, kubernetes-pydra",
    ),
    "practice": ("--dra-practice=drian", "--dra-practice: unknown 'drian'; did you mean 'drain'?"),
    "check": ("--dra-check=rbac.operator.manage-claims", "did you mean 'rbac.operator.manages-claims'?"),
    "saboteur": ("--dra-saboteur=keeps-dci", "--dra-saboteur: unknown 'keeps-dci'; did you mean 'keeps-cdi'?"),
    "manifest": ("--dra-driver={bad}", "{bad}:16: unknown key `clam` (did you mean `claim`?)"),
    "package": ("--dra-driver={lacking}", "`workload.daemonSets`: no DaemonSet is called 'nosuch'; there are: driver-"),
    "tool": ("--dra-driver={chart}", "There is no `go` command to build helm"),
}


def run_suites(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRA_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "suites", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**kept, "TMPDIR": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_wrong_option_ends_the_run_at_once_with_exit_code_2(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    good = (ROOT / "drivers/catalog/kubernetes-pydra.yaml").read_text()
    lines = good.replace("claim:", "clam:")
    places = {
        "bad": lines,
        "lacking": good.replace('daemonSets: ["{prefix}"]', "daemonSets: [nosuch]"),
        "chart": re.sub(r"  files: .*\n  code: .*", "  chart: .", good.replace("kind: manifest", "kind: helm")),
    }
    files = {name: tmp_path / f"{name}.yaml" for name in places}
    for name, file in files.items():
        file.write_text(
            re.sub(r"(?<=[ \[])(?=kubernetes-pydra/|pydra_server)", f"{ROOT}/drivers/catalog/", places[name])
        )
    line = next(n for n, text in enumerate(lines.splitlines(), 1) if text.startswith("clam"))

    def attempt(option: str) -> subprocess.CompletedProcess[str]:
        return run_suites(
            tmp_path, option.format(**files), PATH="", XDG_CACHE_HOME=str(tmp_path_factory.mktemp("cache"))
        )

    with ThreadPoolExecutor(2) as both:
        runs = dict(zip(WRONG, both.map(attempt, (option for option, _ in WRONG.values())), strict=True))
    for name, (_, says) in WRONG.items():
        done = runs[name]
        assert done.returncode == 2, f"{name}: {done.stdout}{done.stderr}"
        assert says.format(**files).replace(":16:", f":{line}:") in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
    assert set(tmp_path.iterdir()) == set(files.values()), "nothing was made"


def test_collecting_needs_no_cluster_no_engine_no_network_and_leaves_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(OFFLINE)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "home").mkdir()
    done = run_suites(
        tmp_path / "tmp",
        "--collect-only",
        "-q",
        PATH="",
        HOME=str(tmp_path / "home"),
        XDG_CACHE_HOME=str(tmp_path / "home" / "cache"),
        PYTHONPATH=str(site),
        KUBECONFIG="/nonexistent",
        DOCKER_HOST="unix:///nonexistent",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    collected = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(collected) == len(set(collected)) == len(load_catalogue(FILE))
    assert f"{len(collected)} tests collected" in done.stdout
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("practice", ["rbac", "upgrade"])
def test_collecting_shows_the_chosen_practice(tmp_path: Path, practice: str) -> None:
    done = run_suites(tmp_path, "--collect-only", "-q", f"--dra-practice={practice}")
    collected = [line for line in done.stdout.splitlines() if "::" in line]
    assert collected
    assert all(line.startswith(f"suites/{practice}/") for line in collected)
    others = len(load_catalogue(FILE)) - len(collected)
    assert f"({others} deselected)" in done.stdout


def test_other_tests_know_nothing_of_a_conformance_run(tmp_path: Path) -> None:
    """The options exist, but only `pytest suites` is a run."""
    test = tmp_path / "test_x.py"
    test.write_text("def test_x(request):\n    assert not request.config.pluginmanager.has_plugin('dra-worker')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", "--confcutdir=/"]
    done = subprocess.run(
        [*command, "-p", "conftest", str(test), "--dra-driver=nosuch"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
