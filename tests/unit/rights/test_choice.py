"""Which checks a printed role is for."""

from __future__ import annotations

import argparse

import pytest

from fixtures.check.collected import FILE
from fixtures.rights.choice import Choice
from fixtures.rights.table import RECORDING, Table
from reports.model import load_catalogue


def chosen(*words: str) -> Choice:
    parser = argparse.ArgumentParser()
    Choice.add_to(parser)
    return Choice.of(parser.parse_args(words), print)


@pytest.mark.parametrize("disruptive", [True, False])
def test_a_role_is_for_what_can_be_checked_in_somebody_elses_cluster(*, disruptive: bool) -> None:
    wanted = set(chosen(*(["--disruptive"] if disruptive else [])).wanted)
    entries = {entry.id: entry for entry in load_catalogue(FILE)}
    assert {entries[name].topology for name in wanted} == {"standard"}
    assert {"scale.prepare.latency", "scale.bottleneck.named"} <= set(chosen("--practice=scale").wanted)
    assert any(entries[name].disruptive for name in wanted) == disruptive
    assert not any("simulated-nodes" in entries[name].capabilities for name in wanted)


def test_what_a_check_needs_is_recorded_if_it_can_be_made_in_somebody_elses_cluster() -> None:
    wanted = {*chosen("--disruptive").wanted, *chosen("--disruptive", "--practice=scale").wanted}
    lacking = sorted(wanted - Table.load().checks.keys())
    assert not lacking, f"run `{RECORDING} -- --dra-check {','.join(lacking)}`"
