"""The same load in larger clusters, as a table and as plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fixtures.scale.growth import COLUMNS, Step, plots, size_with
from reports.plots import render_svg

if TYPE_CHECKING:
    from fixtures.scale.reference import Reference


@pytest.mark.parametrize("nodes", [20, 100, 1000])
def test_the_load_is_the_same_whatever_the_number_of_nodes(nodes: int) -> None:
    size = size_with(nodes)
    assert size.devices == nodes * 8
    assert size.model_copy(update={"nodes": 20}) == size_with(20)


def test_each_size_is_a_row_and_a_point_of_each_curve(reference: Reference) -> None:
    steps = [Step.of(size_with(nodes), reference) for nodes in (20, 1000)]
    row = steps[1].row()
    assert row.split() == ["1000", "8000", "0.10/0.10", "0.10/0.10", "128", "128", "128"]
    assert row.index("0.10/0.10") + len("0.10/0.10") == COLUMNS.index("without claims (s)") + len("without claims (s)")
    time, memory = plots(steps).values()
    assert [curve.points for curve in time.curves] == [((20.0, 0.1), (1000.0, 0.1))] * 4
    assert [curve.points for curve in memory.curves] == [((20.0, 128.0), (1000.0, 128.0))] * 3
    assert [curve.label for curve in memory.curves] == list(steps[0].memory)
    assert "<svg" in render_svg(memory)
