"""The suite as a Job in the cluster that it checks: from its image to the report that was fetched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fixtures.incluster.__main__ import main
from fixtures.incluster.manifests import NAME, NAMESPACE
from reports.model import Report

if TYPE_CHECKING:
    import pytest

    from tests.existing.conftest import ByHand, Everything

PRACTICES = "liveness,drain,scale"


def test_a_job_checks_its_own_cluster_and_leaves_its_report(
    by_hand: ByHand, tmp_path: Path, look: Callable[[], Everything], capsys: pytest.CaptureFixture[str]
) -> None:
    archive, applied, fetched = tmp_path / "suite.tar", tmp_path / "job.yaml", tmp_path / "report"
    assert main(["image", str(archive)]) == 0
    by_hand.load_on_control_plane(archive)
    before = look()
    capsys.readouterr()
    assert main(["manifests", f"--practice={PRACTICES}", "--", "-n", "2"]) == 0
    applied.write_text(capsys.readouterr().out)
    by_hand.kubectl("apply", "-f", applied)
    try:
        assert main(["fetch", f"--kubeconfig={by_hand.kubeconfig}", str(fetched)]) == 0
    finally:
        print(by_hand.kubectl("-n", NAMESPACE, "logs", f"job/{NAME}"))
        by_hand.kubectl("delete", "--wait", "-f", applied)
    report = Report.model_validate_json((fetched / "conformance-report.json").read_text())
    assert (report.verdict, report.cluster.name) == ("conformant", "in-cluster")
    assert {practice.name for practice in report.practices} == set(PRACTICES.split(","))
    assert (fetched / "index.html").exists()
    assert before.changes(look()) == []
