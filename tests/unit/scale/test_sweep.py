"""Client limits: how they are tried, which is recommended, and how a component gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fixtures.cluster.component_metrics import Component
from fixtures.cluster.control_plane import with_flags
from fixtures.scale.loader import Phase
from fixtures.scale.reference import Side
from fixtures.scale.sweep import Sweep, Trial, confirm, confirming, descend, flags, plot, table
from tests.unit.scale.conftest import a_phase, a_side

MANIFEST = """\
spec:
  containers:
  - command:
    - kube-scheduler
    - --bind-address=0.0.0.0
    - --kube-api-qps=50
    image: x
"""


def trials(*met: int, missed: int, component: Component = "kube-scheduler") -> list[Trial]:
    def load(qps: int) -> Phase:
        return a_phase(stages={"whole": 25.0 if qps <= missed else 1.0})

    return list(descend(component, [*met, missed, 1], load))


def both() -> list[Trial]:
    return [*trials(75, 40, 20, missed=10, component="kube-controller-manager"), *trials(50, 20, missed=10)]


def confirmed_from(least: int) -> Sweep:
    """As a cluster answers whose controller manager needs so many calls under the page's load."""

    def load(limits: Sequence[Trial]) -> Side:
        unfinished = 0 if limits[0].qps >= least else 7
        return replace(a_side(claims=True, calls=1.0), filling=a_phase(unfinished=unfinished))

    return Sweep(both(), list(confirm(both(), load)))


def test_limits_are_tried_from_the_highest_until_one_does_not_do() -> None:
    assert [trial.qps for trial in trials(20, 75, missed=10)] == [75, 20, 10]


def test_the_lowest_that_do_together_are_recommended() -> None:
    swept = confirmed_from(20)
    assert swept.recommended is not None
    assert [trial.flags for trial in swept.recommended] == ["--kube-api-qps=20 --kube-api-burst=40"] * 2
    words = [row[-1] for row in table(swept).rows]
    assert words == ["meets the target"] * 2 + ["recommended", "too low", "meets the target", "recommended", "too low"]
    assert [row[-1] for row in confirming(swept).rows] == ["confirmed", "confirmed"]


def test_what_does_alone_but_not_together_is_raised_step_by_step() -> None:
    swept = confirmed_from(75)
    tried = [[trial.qps for trial in found.limits] for found in swept.confirmations]
    assert tried == [[20, 20], [40, 50], [75, 50]]
    assert swept.recommended == swept.confirmations[-1].limits
    assert "7 of 100 pods did not run" in swept.shortcomings


def test_nothing_is_recommended_that_is_not_confirmed() -> None:
    swept = confirmed_from(100)
    assert len(swept.confirmations) == 3
    assert swept.recommended is None
    assert "recommended" not in {row[-1] for row in table(swept).rows}


def test_there_is_nothing_to_confirm_if_no_limit_of_a_component_does() -> None:
    found = [*trials(20, missed=10), *trials(missed=75, component="kube-controller-manager")]
    swept = Sweep(found, list(confirm(found, lambda _: pytest.fail("loaded"))))
    assert swept.recommended is None
    assert swept.shortcomings.count("kube-controller-manager --kube-api-qps=75") == 1


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
