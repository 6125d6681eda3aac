"""Plots of a check's measurements as SVG: curves over a logarithmic axis, with limits; readable in black and white."""

import io
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from reports.timeline import svg

FILE = "plot.json"
_WIDE, _NARROW = (9.0, 3.8), (4.2, 3.6)
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D")


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x above 0, y), from left to right."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """A horizontal line that curves are held against."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves with the names of their axes, units included."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    limits: tuple[Limit, ...] = ()

    def to_json(self) -> str:
        """As text that `from_json` understands."""
        return TypeAdapter(Plot).dump_json(self, indent=2).decode()


def from_json(text: str) -> Plot:
    """The plot that `to_json` wrote."""
    return TypeAdapter(Plot).validate_json(text)


def render_svg(plot: Plot, *, narrow: bool = False) -> str:
    """The picture as a `<svg>` element, in the colours of timelines, so that a page can put its own in their place."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    buffer = io.StringIO()
    with svg.style((plot, narrow)):
        figure = Figure(figsize=_NARROW if narrow else _WIDE, facecolor=svg.PAPER, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot(facecolor=svg.PAPER)
        for number, curve in enumerate(plot.curves):
            xs, ys = zip(*curve.points, strict=True)
            dash, marker = _DASHES[number % len(_DASHES)], _MARKERS[number % len(_MARKERS)]
            axes.plot(
                xs,
                ys,
                dash,
                marker=marker,
                color=svg.INK,
                markersize=4,
                linewidth=1.1,
                label=curve.label,
                clip_on=False,
            )
        for limit in plot.limits:
            axes.axhline(limit.value, color=svg.SEVERE, linewidth=1.3, label=limit.label)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xticks(sorted({x for curve in plot.curves for x, _ in curve.points}))
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set(xlabel=plot.x, ylabel=plot.y)
        axes.set_title(plot.title, weight="bold", loc="left", color=svg.INK)
        axes.grid(color=svg.GRID, linewidth=0.6)
        axes.tick_params(colors=svg.INK)
        for spine in axes.spines.values():
            spine.set_color(svg.GRID)
        figure.legend(loc="outside lower left", ncols=1 if narrow else 3, frameon=False, labelcolor=svg.INK)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return svg.tidy(buffer.getvalue(), plot.title)


def write_pictures(plot: Plot, path: Path) -> None:
    """Write `<name>.svg` and, for phones, `<name>.narrow.svg` beside it. Raises OSError."""
    path.write_text(render_svg(plot), encoding="utf-8")
    path.with_suffix(svg.NARROW_SUFFIX).write_text(render_svg(plot, narrow=True), encoding="utf-8")
