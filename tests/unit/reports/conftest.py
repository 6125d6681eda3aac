"""A made-up run with every outcome in it, and the directory it would have left."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reports.model import (
    PRACTICES,
    CatalogueEntry,
    CheckResult,
    ClusterFacts,
    DriverFacts,
    Failure,
    Level,
    Measurement,
    Metadata,
    NodeFacts,
    Outcome,
    Report,
    TimeoutUse,
)
from reports.timeline import Bar, Mark, Timeline, to_text, write_pictures
from reports.verdict import judge

STARTED = datetime(2026, 11, 30, 9, 31, 4, tzinfo=UTC)
TOKEN = "sha256~bm90LWEtcmVhbC1zZWNyZXQ"

# id: (claim, level, outcome, seconds)
CHECKS: dict[str, tuple[str, Level, Outcome, float]] = {
    "rbac.operator.manages-claims": (
        "An operator can do everything with claims and templates in the own namespace.", "core", "passed", 1.4),
    "rbac.operator.no-deviceclass-write": (
        "Operators cannot create, change or delete DeviceClasses.", "core", "passed", 0.9),
    "rbac.operator.no-taint-rule-write": (
        "Operators cannot write DeviceTaintRules, where served.", "extended", "not-applicable", 0.1),
    "rbac.audit.wildcards": (
        "No wildcard role outside system and admin reaches DRA objects.", "advisory", "failed", 0.7),
    "driver.deployment.placement": (
        "There is a Ready driver on every node that its selector names, and on no other.", "core", "passed", 2.2),
    "driver.slices.pool-per-node": (
        "A node-local pool belongs to one node; device ids are unique in the cluster.", "core", "failed", 1.1),
    "driver.prepare.device-visible": (
        "The container really has its device, and the one that was allocated.", "core", "error", 61.0),
    "driver.unprepare.releases": (
        "When the pod is gone its claim is released and no CDI file of it is left.", "core", "passed", 9.8),
    "driver.health.device-status": (
        "An unhealthy device shows in the pod's status and recovers by itself.", "extended", "not-supported", 0),
    "upgrade.seamless.slices-continuous": (
        "No slice is deleted or recreated during a rollout, and pools stay complete.", "core", "failed", 38.7),
    "upgrade.seamless.new-pods-start": (
        "Pods created all through the rollout start with no failed prepare.", "core", "passed", 41.2),
    "upgrade.downtime.cleanup-delayed": (
        "The last pod of a claim stays Terminating while the driver is away.", "core", "exempt", 0),
    "liveness.probe.declared": (
        "Each container that serves a DRA socket has a liveness probe on a served port.", "core", "passed", 0.3),
    "liveness.restart.hung": (
        "A hung driver is restarted within the time that its pod promises.", "core", "inconclusive", 88.0),
    "drain.order.driver-last": (
        "During a drain the driver stays Ready until the last unprepare on the node.", "core", "not-run", 0),
    "scale.metrics.exposed": (
        "Each metric that the page names exists with its labels.", "core", "passed", 4.5),
}  # fmt: skip

FAILURES = {
    "upgrade.seamless.slices-continuous": Failure(
        expected="at least one ResourceSlice for driver gpu.example.com on node worker at all times",
        observed="none for 4.7 s (from +16.2 s to +20.9 s), limit 0 s",
        context=f"plugin-7xk2p ended at +17.4 s; request sent with Authorization: Bearer {TOKEN}\n"
        "plugin-q9d4z registered at +11.0 s, published at +20.9 s",
        hint="Leave the slices when the driver stops: the kubelet removes them after 30 s if nothing comes back.",
    ),
    "driver.slices.pool-per-node": Failure(
        expected="every pool name is used on one node only",
        observed="pool 'gpu.example.com' is published by worker and by worker2 <both with devices gpu-0 to gpu-3>",
        hint="Name the pool after the node: only half of the advertised devices can ever be allocated.",
    ),
    "driver.prepare.device-visible": Failure(
        expected="the suite can read the environment of the container",
        observed="ConnectionResetError: the API server closed the exec stream",
    ),
    "rbac.audit.wildcards": Failure(
        expected="no wildcard role outside system and admin",
        observed="ClusterRole acme-operator has * on *",
        hint="List what the operator needs.",
    ),
}
REASONS = {
    "rbac.operator.no-taint-rule-write": "DeviceTaintRules are not served by this cluster",
    "driver.health.device-status": "device-health is declared unsupported",
    "upgrade.downtime.cleanup-delayed": "the operator: covered by our own test | see ticket 42",
    "liveness.restart.hung": "the node's disk filled up while the driver was stopped",
}
SLICES = "upgrade.seamless.slices-continuous"
PODS = "upgrade.seamless.new-pods-start"


def catalogue() -> tuple[CatalogueEntry, ...]:
    return tuple(
        CatalogueEntry(
            id=name,
            practice=next(practice for practice in PRACTICES if name.startswith(f"{practice}.")),
            claim=claim,
            level=level,
            source="GP-3",
            saboteurs=("some-fault",),
        )
        for name, (claim, level, _, _) in CHECKS.items()
    )


def rollout(title: str, gap: bool) -> Timeline:
    """Two driver pods overlap on a node while eight claim pods start."""
    bars = [
        Bar("rollout v1 to v2", "rollout", 8, 21.5, "disturbance"),
        Bar("plugin-7xk2p", "v1", -2, 17.4, "driver-pod"),
        Bar("plugin-q9d4z", "v2", 9.2, None, "driver-pod"),
        Bar("gpu.example.com by 7xk2p", "registered", -1, 16.1, "registration"),
        Bar("gpu.example.com by q9d4z", "registered", 11, None, "registration"),
        Bar("worker-gpu.example.com-abcde", "generation 1", -1, 16.2 if gap else None, "slice"),
        Bar("worker2-gpu.example.com-fghij", "generation 1", -1, None, "slice"),
    ]
    marks = [Mark(None, 8, "rollout begins"), Mark(None, 21.5, "rollout complete")]
    if gap:
        bars.append(Bar("worker-gpu.example.com-abcde", "generation 2", 20.9, None, "slice"))
        marks.append(Mark(None, 16.2, "slice worker-gpu.example.com-abcde deleted: none for 4.7 s", severe=True))
        marks.append(Mark("claim-pod-5", 17.3, "FailedPrepareDynamicResources: driver not registered", severe=True))
    for number in range(8):
        start, wait = 1 + 3 * number, 11.5 if gap and number == 5 else 0.6
        bars.append(Bar(f"claim-pod-{number}", "Pending", start, start + wait, "pod"))
        bars.append(Bar(f"claim-pod-{number}", "Running", start + wait, 17 + number if number < 3 else None, "pod"))
    return Timeline(title, STARTED.timestamp() + 90, bars, marks)


def write_files(directory: Path) -> None:
    for check, gap in ((SLICES, True), (PODS, False)):
        folder = directory / "checks" / check
        folder.mkdir(parents=True)
        timeline = rollout(check, gap)
        write_pictures(timeline, folder / "timeline.svg")
        (folder / "timeline.txt").write_text(to_text(timeline))


def made_up_report() -> Report:
    results: dict[str, CheckResult] = {}
    for entry in catalogue():
        _, _, outcome, seconds = CHECKS[entry.id]
        if outcome == "not-run":
            continue
        folder = f"checks/{entry.id}"
        files = () if outcome != "failed" else (f"{folder}/events.txt", f"{folder}/logs/plugin 7xk2p#1.log")
        timeline = f"{folder}/timeline.svg" if entry.id in (SLICES, PODS) else None
        results[entry.id] = CheckResult(
            id=entry.id,
            practice=entry.practice,
            claim=entry.claim,
            level=entry.level,
            source=entry.source,
            outcome=outcome,
            reason=REASONS.get(entry.id),
            started=STARTED + timedelta(seconds=5 * len(results)),
            duration=seconds,
            failure=FAILURES.get(entry.id),
            files=(*files, timeline) if timeline else files,
            timeline=timeline,
            notes=("kubelet v1.37.2 waits after a clean stop",) if entry.id == PODS else (),
            measurements=(
                Measurement(name="pod start, p99", value=1.04, unit="s", threshold=5, baseline=0.71),
                Measurement(name="pods started", value=25, unit="pods"),
            )
            if entry.id == PODS
            else (),
        )
    timeouts = (
        TimeoutUse(name="claim-prepared", used=60, conformant_maximum=30, exceeded=True),
        TimeoutUse(name="registered", used=60, conformant_maximum=60, exceeded=False),
    )
    judgement = judge(catalogue(), results, timeouts=timeouts)
    return Report(
        metadata=Metadata(
            run_id="r7f3c2",
            started=STARTED,
            finished=STARTED + timedelta(minutes=7, seconds=12),
            suite_version="0.1.0",
            suite_commit="94508fc0d6c1",
            suite_dirty=True,
            catalogue_sha256="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
        verdict=judgement.verdict,
        exit_code=judgement.exit_code,
        cluster=ClusterFacts(
            provider="kind",
            name="dra-r7f3c2",
            server_version="v1.37.2",
            resource_versions=("v1", "v1beta2"),
            nodes=tuple(
                NodeFacts(name=name, kubelet="v1.37.2", runtime="containerd://2.1.4")
                for name in ("control-plane", "worker", "worker2")
            ),
        ),
        driver=DriverFacts(
            name="gpu.example.com",
            organization="Acme",
            project="acme-dra",
            version="1.4.2",
            url="https://example.com/acme-dra",
            contact="@acme/dra",
        ),
        options={"driver": "acme.yaml", "practice": "all", "timeout-scale": "2"},
        practices=judgement.practices,
        checks=judgement.checks,
        timeouts=timeouts,
        leftovers=("Namespace dra-r7f3c2-upgrade-4: still Terminating after 60 s",),
    )


@pytest.fixture
def report() -> Report:
    return made_up_report()


@pytest.fixture
def entries() -> tuple[CatalogueEntry, ...]:
    """The catalogue that the made-up run was judged by."""
    return catalogue()


@pytest.fixture
def secret() -> str:
    """A token that the made-up failure quotes."""
    return TOKEN


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pictures of the made-up run, drawn once."""
    directory = tmp_path_factory.mktemp("drawn")
    write_files(directory)
    return directory


@pytest.fixture
def run_directory(tmp_path: Path, drawn: Path) -> Path:
    """What the checks of the made-up run left, before any report is written."""
    shutil.copytree(drawn, tmp_path, dirs_exist_ok=True)
    return tmp_path
