"""Client limits: how they are tried, which is recommended, and how a component gets them."""

from __future__ import annotations

import pytest

from fixtures.control_plane import with_flags
from fixtures.load.phase import Phase
from fixtures.load.sweep import Trial, descend, flags, plot, recommended, table
from tests.unit.load.conftest import a_phase

MANIFEST = """\
spec:
  containers:
  - command:
    - kube-scheduler
    - --bind-address=0.0.0.0
    - --kube-api-qps=50
    image: x
"""


def trials(*met: int, missed: int) -> list[Trial]:
    def load(qps: int) -> Phase:
        return a_phase(stages={"whole": 25.0 if qps <= missed else 1.0})

    return list(descend("kube-scheduler", [*met, missed, 1], load))


def test_limits_are_tried_from_the_highest_until_one_does_not_do() -> None:
    assert [trial.qps for trial in trials(20, 75, missed=10)] == [75, 20, 10]


def test_the_lowest_that_does_is_recommended() -> None:
    found = trials(20, 75, missed=10)
    best = recommended(found, "kube-scheduler")
    assert best is not None
    assert best.flags == "--kube-api-qps=20 --kube-api-burst=40"
    assert [row[-1] for row in table(found).rows] == ["meets the target", "recommended", "too low"]
    assert recommended(found[-1:], "kube-scheduler") is None
    assert recommended(found, "kube-controller-manager") is None


def test_pods_that_never_ran_do_not_meet_the_target() -> None:
    (trial,) = descend("kube-scheduler", [5], lambda _: a_phase(unfinished=1))
    assert not trial.meets


def test_the_plot_has_the_curves_and_the_target() -> None:
    drawn = plot(trials(20, 75, missed=10))
    assert [curve.label for curve in drawn.curves] == ["kube-scheduler, p50", "kube-scheduler, p99"]
    assert drawn.curves[1].points == ((10, 25.0), (20, 1.0), (75, 1.0))
    assert drawn.limits[0].value == 20.0


@pytest.mark.parametrize("manifest", [MANIFEST, MANIFEST.replace("    - --kube-api-qps=50\n", "")])
def test_flags_are_exchanged_or_added(manifest: str) -> None:
    changed = with_flags(manifest, flags(5)).splitlines()
    assert sorted(line.strip(" -") for line in changed if "api" in line) == ["kube-api-burst=10", "kube-api-qps=5"]
    assert "    - --bind-address=0.0.0.0" in changed
    assert with_flags(manifest, {}) == manifest
