"""Named timeouts: the manifest's own, scaled, and what of it is more than a conformant system may need."""

from __future__ import annotations

import pytest

from fixtures.kube.timeouts import MAXIMA, Timeouts


def test_a_timeout_is_its_conformant_maximum() -> None:
    timeouts = Timeouts()
    assert {name: timeouts[name] for name in MAXIMA} == dict(MAXIMA)
    assert timeouts.exceeded() == []


def test_scaling_down_exceeds_nothing_and_scaling_up_everything() -> None:
    assert Timeouts(0.5).exceeded() == []
    assert Timeouts(1.01).exceeded() == list(MAXIMA)
    assert Timeouts(2)["pod_running"] == 2 * MAXIMA["pod_running"]


def test_a_manifests_own_timeout_is_scaled_too() -> None:
    timeouts = Timeouts(2, {"rollout": 10, "drain": 1000})
    assert (timeouts["rollout"], timeouts["drain"]) == (20, 2000)
    assert "rollout" not in timeouts.exceeded()
    assert Timeouts(1, {"drain": 1000}).exceeded() == ["drain"]


def test_an_unknown_timeout_is_a_mistake_in_the_suite() -> None:
    with pytest.raises(KeyError):
        Timeouts()["nosuch"]
