"""Recording rules, alerts and dashboard: about the page's metrics, sound, and right about loads that were recorded."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from fixtures.options.sizes import SIZES
from fixtures.scale import page_metrics, thresholds
from tests.monitoring.conftest import Promtool
from tests.monitoring.recordings import rule_test

KIT = Path(__file__).parents[2] / "reports" / "monitoring"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((KIT / "rules.yaml").read_text())["groups"] for rule in group["rules"]
]
RECORDED = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
DASHBOARD = json.loads((KIT / "dashboard.json").read_text())


def test_the_rules_are_sound(promtool: Promtool) -> None:
    assert f"{len(RULES)} rules found" in promtool("check", "rules", "--lint-fatal", KIT / "rules.yaml")


def test_the_rules_are_about_the_metrics_of_the_page() -> None:
    wanted = [*page_metrics.CONTROLLER_MANAGER, *page_metrics.SCHEDULER, *page_metrics.KUBELET, (page_metrics.GRPC, {})]
    used = {name for expr in RECORDED.values() for name in re.findall(r"\b(\w+)(?:\{|\[)", expr)}
    assert used == {name for name, _ in wanted}


def test_alerts_and_panels_are_made_of_what_is_recorded() -> None:
    alerts = " ".join(rule["expr"] for rule in RULES if "alert" in rule)
    panels = {target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])}
    assert RECORDED.keys() >= {*re.findall(r"dra:\w+:\w+", alerts)}
    assert panels == RECORDED.keys()


def test_alerts_have_the_limits_of_the_checks() -> None:
    alerts = {rule["alert"]: rule["expr"] for rule in RULES if "alert" in rule}
    found = {name: set(re.findall(r"(?:[<>]=?) (\d+)", expr)) for name, expr in alerts.items()}
    pages_rate = SIZES["reference"].rate
    claims = {f"{n:g}" for n in (thresholds.DEEP, thresholds.SLOW_WORK, thresholds.LOW_ADDS * pages_rate)}
    assert found == {
        "DRAClaimControllerFallsBehind": claims,
        "DRAClaimControllerLacksConcurrency": claims,
        "DRASchedulingSlow": {f"{thresholds.FILLING:g}"},
        "DRANodeOperationsSlow": {f"{thresholds.PREPARE['p90']:g}"},
    }


@pytest.mark.parametrize(
    ("recording", "at", "raised"),
    [
        ("healthy.prom.gz", 160, []),
        ("slow-controller-manager.prom.gz", 175, ["DRAClaimControllerFallsBehind"]),
        ("slow-scheduler.prom.gz", 135, ["DRASchedulingSlow"]),
    ],
)
def test_alerts_are_raised_for_what_was_recorded(
    promtool: Promtool, tmp_path: Path, recording: str, at: int, raised: list[str]
) -> None:
    """Some seconds after its begin; whether they fire already is a matter of how long the load lasts."""
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in raised]
    wanted = {"expr": "count by (alertname) (ALERTS)", "eval_time": f"{at}s", "exp_samples": samples}
    shutil.copy(KIT / "rules.yaml", tmp_path)
    test = tmp_path / "test.yaml"
    test.write_text(json.dumps(rule_test(recording, promql_expr_test=[wanted])))
    assert "SUCCESS" in promtool("test", "rules", test)


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    read = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(DASHBOARD)))
    assert not list(lost(DASHBOARD, read))


def lost(written: Any, read: Any, where: str = "") -> Iterator[str]:
    """Fields of the dashboard that Grafana's own model of it does not know, or takes for something else."""
    if isinstance(written, dict) and isinstance(read, dict):
        for name, value in written.items():
            yield from lost(value, read.get(name), f"{where}/{name}")
    elif isinstance(written, list) and isinstance(read, list):
        for number, (value, other) in enumerate(itertools.zip_longest(written, read)):
            yield from lost(value, other, f"{where}/{number}")
    elif written != read:
        yield f"{where}: {written!r} is read as {read!r}"
