"""Plots: what they show, and that a page can take them in."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from reports.plots import Curve, Limit, Plot, from_json, render_svg
from reports.timeline import svg

PLOT = Plot("Start", "QPS", "seconds", (Curve("p99", ((2.0, 30.0), (75.0, 1.0))),), (Limit("target", 20.0),))


@pytest.mark.parametrize("narrow", [False, True])
def test_a_plot_names_everything_in_it(narrow: bool) -> None:
    picture = render_svg(PLOT, narrow=narrow)
    ET.fromstring(picture)
    for words in ("Start", "QPS", "seconds", "p99", "target", "75"):
        assert f">{words}<" in picture
    assert svg.SEVERE in picture
    assert "<script" not in picture


def test_the_same_plot_is_the_same_picture() -> None:
    again = from_json(PLOT.to_json())
    assert again == PLOT
    assert render_svg(again) == render_svg(PLOT)
