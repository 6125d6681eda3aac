"""Every check is seen to fail, by a saboteur that others do not mind; a healthy driver makes none fail.

With `--matrix` every saboteur is tried against all checks of its practices: it fails exactly those that it declares.
Checks that measure load on simulated nodes want the machine for themselves: they have their turn with `--load`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import tenacity

from drivers.saboteurs import REGISTRY, Saboteur
from fixtures.check.collected import FILE, SUITES
from fixtures.cluster.control_plane import tuned
from fixtures.kube.api import Kube
from fixtures.run.paths import SESSION_VARIABLE
from reports.model import Report, load_catalogue
from tests.sensitivity.conftest import session_clusters

ENTRIES = load_catalogue(FILE)
CHECKS = [entry.id for entry in ENTRIES if entry.topology != "scale"]
UNDER_LOAD = [entry.id for entry in ENTRIES if entry.practice == "scale"]

PANEL = ("rbac.operator.manages-claims", "driver.prepare.device-visible")
LIMIT = 2400
ONE_WORKER = {"concurrent-resourceclaim-syncs": "1", "kube-api-qps": "1000", "kube-api-burst": "2000"}


@pytest.fixture(autouse=True)
def _room_first(request: pytest.FixtureRequest) -> Iterator[None]:
    """What needs the cluster alone goes first, so that it does not make everybody wait in between."""
    directory = Path(os.environ[SESSION_VARIABLE])
    planned = {item.name for item in request.session.items if "room" in item.keywords}
    mine = "room" in request.node.keywords
    if not mine:
        _until_done(directory, planned)
    yield
    if mine:
        (directory / f"{request.node.name}.done").touch()


@tenacity.retry(
    retry=tenacity.retry_if_result(bool), wait=tenacity.wait_fixed(0.5), stop=tenacity.stop_after_delay(LIMIT)
)
def _until_done(directory: Path, names: set[str]) -> set[str]:
    return {name for name in names if not (directory / f"{name}.done").exists()}


def run_suite(directory: Path, *options: str) -> tuple[Report, int]:
    """Run the suites as a user would, on the session's cluster; returns the report and the exit code."""
    command = [sys.executable, "-m", "pytest", str(SUITES), "-p", "no:cacheprovider", f"--dra-report-dir={directory}"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment,
        cwd=SUITES.parent,
        check=False,
    )
    print(done.stdout[-20000:], done.stderr[-5000:])
    written = list(directory.glob("*/conformance-report.json"))
    assert written, f"no report, exit {done.returncode}"
    return Report.model_validate_json(written[0].read_text()), done.returncode


def outcomes(report: Report) -> dict[str, str]:
    return {check.id: check.outcome for check in report.checks if check.outcome != "not-run"}


def proofs(checks: Sequence[str]) -> dict[str, list[str]]:
    """For each check one saboteur that it must catch, the one that breaks least; by saboteur, those checks."""
    chosen: dict[str, list[str]] = {}
    for check in checks:
        guilty = [s for s in REGISTRY.values() if check in s.breaks]
        chosen.setdefault(min(guilty, key=lambda s: len(s.breaks)).id, []).append(check)
    return chosen


def matrix(checks: Sequence[str]) -> dict[str, list[str]]:
    """For each saboteur that breaks any of these checks, those of the practices in which it does."""
    plans = {}
    for saboteur in REGISTRY.values():
        practices = {check.partition(".")[0] for check in saboteur.breaks if check in checks}
        if practices:
            plans[saboteur.id] = [check for check in checks if check.partition(".")[0] in practices]
    return plans


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "saboteur" in metafunc.fixturenames:
        checks = UNDER_LOAD if metafunc.config.getoption("load") else CHECKS
        plans = matrix(checks) if metafunc.config.getoption("matrix") else proofs(checks)
        ordered = sorted(plans, key=lambda name: (REGISTRY[name].layer != "cluster", -len(plans[name])))
        crowded = {s.id for s in REGISTRY.values() if (s.layer, s.topology) == ("cluster", "standard")}
        marks = {name: [pytest.mark.room] if name in crowded else [] for name in plans}
        cases = [pytest.param(REGISTRY[name], plans[name], id=name, marks=marks[name]) for name in ordered]
        metafunc.parametrize(("saboteur", "checks"), cases)


def test_healthy_driver_fails_nothing(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    load = pytestconfig.getoption("load")
    checks = UNDER_LOAD if load else CHECKS
    chosen = "--dra-practice=scale" if load else f"--dra-check={','.join(checks)}"
    report, code = run_suite(tmp_path, chosen, "-n4", "--dist=worksteal")
    assert outcomes(report) == dict.fromkeys(checks, "passed")
    assert (report.verdict, code) == (("conformant", 0) if load else ("partial", 3))


def test_saboteur_is_caught_by_what_it_breaks(
    saboteur: Saboteur, checks: list[str], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    chosen = [*checks, *(check for check in PANEL if check not in checks)]
    options = [f"--dra-saboteur={saboteur.id}", f"--dra-check={','.join(chosen)}", "-n2", "--dist=worksteal"]
    if pytestconfig.getoption("load"):
        options.append("--dra-scale=small")
    report, code = run_suite(tmp_path, *options)
    assert outcomes(report) == {check: "failed" if check in saboteur.breaks else "passed" for check in chosen}
    assert code == 1


@pytest.mark.load
def test_too_many_pods_for_one_worker_are_told_from_a_slow_controller(tmp_path: Path) -> None:
    """The page's other diagnosis, clause GP-8b. It takes more pods per second than the sizes that have a name."""
    size = tmp_path / "size.yaml"
    size.write_text("{nodes: 130, lasting: 1000, churning: 40, rounds: 1, rate: 60, swept: 1}")
    handle = session_clusters(print).ensure("scale")
    kube = Kube.from_kubeconfig(handle.kubeconfig, "dra-conformance/sensitivity")
    with tuned(kube, handle, {"kube-controller-manager": ONE_WORKER}):
        report, code = run_suite(tmp_path, "--dra-check=scale.diagnosis.page-rules", f"--dra-scale={size}")
    (check,) = (check for check in report.checks if check.id == "scale.diagnosis.page-rules")
    assert check.failure is not None
    assert "GP-8b" in check.failure.observed
    assert code == 1
