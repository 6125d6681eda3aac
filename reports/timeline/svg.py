"""Draw a timeline as an SVG: readable in black and white, the same bytes for the same timeline.

There are two layouts of the same picture: on a phone the names of the lanes stand above their bars, not beside them.
"""

import hashlib
import io
import re
import textwrap
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from reports.timeline.model import HEADINGS, Bar, BarKind, Timeline, in_order, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

INK, PAPER, GRID, SEVERE = "#1f2328", "#fffffe", "#d0d7de", "#b3261e"
TINTS: dict[BarKind, str] = {
    "disturbance": "#f6c9c4",
    "driver-pod": "#bcd7f7",
    "registration": "#b9e3e0",
    "slice": "#f5dea3",
    "claim": "#ddcdf5",
    "pod": "#c3e6c5",
}
_HATCHES: dict[BarKind, str] = {
    "disturbance": "x",
    "driver-pod": "/",
    "registration": "|",
    "slice": "--",
    "claim": "\\",
    "pod": "/",
}
# How dense the hatch of a kind is for its first, second, ... label; a kind with one tone takes the second.
_DENSITIES = (0, 2, 4, 7)

NARROW_SUFFIX = ".narrow.svg"

_SIZE = 8  # points
_CHARACTER = 0.068  # the width of a usual character of that size, in inches
_LINE, _LEFT, _RIGHT = 0.17, 0.1, 0.22  # the height of a line of words and the margins, in inches
_Row = tuple[BarKind, str, list[Bar]]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Measures in inches; `gutter` is where the axis begins, `name` how many characters of a lane's name have room."""

    width: float
    gutter: float
    lane: float
    name: int
    words: int
    swatches: int
    ticks: int

    @property
    def axis(self) -> float:
        return self.width - self.gutter - _RIGHT

    @property
    def name_above(self) -> bool:
        return self.gutter < 1


_WIDE = _Layout(width=9.0, gutter=2.3, lane=0.22, name=34, words=110, swatches=4, ticks=9)
_NARROW = _Layout(width=4.2, gutter=0.14, lane=0.36, name=54, words=46, swatches=2, ticks=6)


def render_svg(timeline: Timeline, *, narrow: bool = False) -> str:
    """The picture as a `<svg>` element without prolog: a file of its own, or part of a page.

    The narrow one is 400 pixels wide, for phones, the other one 860. Its colours are the constants of this module, so
    that a page can put its own in their place.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    timeline = timeline.redacted()
    buffer = io.StringIO()
    with style((timeline, narrow)):
        figure = Figure(facecolor=PAPER)
        FigureCanvasSVG(figure)
        _draw(timeline, figure, _NARROW if narrow else _WIDE)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return tidy(buffer.getvalue(), timeline.title)


def style(content: object) -> AbstractContextManager[None]:
    """How all pictures look; with the same content one comes out as the same bytes."""
    import matplotlib as mpl

    return mpl.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": hashlib.sha256(repr(content).encode()).hexdigest(),
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": _SIZE,
            "hatch.linewidth": 0.6,
            "text.color": INK,
            "text.parse_math": False,
            "axes.labelcolor": INK,
        }
    )


def write_pictures(timeline: Timeline, path: Path) -> None:
    """Write `<name>.svg` and, for phones, `<name>.narrow.svg` beside it. Raises OSError."""
    path.write_text(render_svg(timeline), encoding="utf-8")
    path.with_suffix(NARROW_SUFFIX).write_text(render_svg(timeline, narrow=True), encoding="utf-8")


def _draw(timeline: Timeline, figure: "Figure", layout: _Layout) -> None:
    """Lay the figure out from top to bottom: title, numbers of the marks, lanes, axis, the marks in words, legend."""
    rows = _rows(timeline)
    words = _marks_in_words(timeline, layout)
    swatches = _swatches(timeline)
    title = textwrap.wrap(timeline.title, int(layout.width / _CHARACTER / 1.35))
    top, axis = 0.2 + 0.2 * len(title) + 0.18 * max(_steps(timeline, layout), default=0), 0.5
    lanes = max(len(rows), 1) * layout.lane
    height = top + lanes + axis + _LINE * len(words) + 0.22 * -(-len(swatches) // layout.swatches) + 0.15
    figure.set_size_inches(layout.width, height)
    for number, line in enumerate(title):
        below = 0.2 + 0.2 * number
        figure.text(_LEFT / layout.width, 1 - below / height, line, fontsize=_SIZE + 2, weight="bold", va="center")

    axes = figure.add_axes(
        (layout.gutter / layout.width, 1 - (top + lanes) / height, layout.axis / layout.width, lanes / height)
    )
    _draw_axes(axes, timeline, len(rows), layout)
    beside, left = axes.get_yaxis_transform(), (_LEFT - layout.gutter) / layout.axis
    places: dict[str, int] = {}
    for number, (kind, name, bars) in enumerate(rows):
        if not bars:
            axes.text(left, number + 0.55, HEADINGS[kind], weight="bold", va="center", transform=beside)
            axes.axhline(number + 0.05, color=GRID, linewidth=0.6)
            continue
        places[name] = number
        place, at, side = (left, number + 0.2, "left") if layout.name_above else (-0.008, number + 0.5, "right")
        axes.text(place, at, shorten(name, layout.name), ha=side, va="center", transform=beside)
        _draw_lane(axes, timeline, number, bars, layout)
    _draw_marks(axes, timeline, places, layout)

    for number, columns in enumerate(words):
        below = top + lanes + axis + _LINE * number
        for place, text in zip((_LEFT, 0.42, 1.05), columns, strict=True):
            figure.text(place / layout.width, 1 - below / height, text, va="center")
    if swatches:
        figure.legend(
            handles=swatches, loc="lower left", bbox_to_anchor=(0, 0), ncols=layout.swatches, frameon=False,
            handlelength=2.6, handleheight=1.3, columnspacing=1.6, borderaxespad=0.4, labelspacing=0.35,
        )  # fmt: skip


def _rows(timeline: Timeline) -> list[_Row]:
    """The lanes from top to bottom; a row without bars is the heading of its kind."""
    rows: list[_Row] = []
    for kind, name, bars in timeline.lanes():
        if not rows or rows[-1][0] != kind:
            rows.append((kind, "", []))
        rows.append((kind, name, bars))
    return rows


def _draw_axes(axes: "Axes", timeline: Timeline, rows: int, layout: _Layout) -> None:
    first, last = timeline.span()
    margin = (last - first) * 0.012
    axes.set_xlim(first - margin, last + (3 * margin if any(bar.end is None for bar in timeline.bars) else margin))
    axes.set_ylim(max(rows, 1), 0)
    axes.set_yticks([])
    zero = datetime.fromtimestamp(timeline.origin, UTC)
    axes.set_xlabel(f"seconds since {zero:%Y-%m-%d %H:%M:%S} UTC", labelpad=2)
    axes.tick_params(colors=INK, length=3)
    axes.locator_params(axis="x", nbins=layout.ticks)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(INK)
    axes.patch.set_visible(False)


def _draw_lane(axes: "Axes", timeline: Timeline, row: int, bars: list[Bar], layout: _Layout) -> None:
    left, right = axes.get_xlim()
    inch = (right - left) / layout.axis
    middle, height = _strip(row, layout)
    for number, bar in enumerate(bars):
        start = bar.start
        end = right if bar.end is None else max(bar.end, start + 0.03 * inch)
        tone = _tone(timeline, bar)
        axes.barh(
            middle, end - start, left=start, height=height, color=TINTS[bar.kind], edgecolor=INK, linewidth=0.7,
            hatch=_HATCHES[bar.kind] * _DENSITIES[tone] or None,
        )  # fmt: skip
        if bar.end is None:
            axes.plot(right, middle, ">", color=INK, markersize=5, clip_on=False)
        following = bars[number + 1].start if number + 1 < len(bars) else right
        needed = (len(bar.label) * _CHARACTER + 0.12) * inch
        if bar.label == bar.lane:
            continue
        if needed <= end - start:
            axes.text(
                start + 0.06 * inch, middle, bar.label, va="center_baseline", fontsize=_SIZE - 1,
                bbox={"facecolor": TINTS[bar.kind], "edgecolor": "none", "pad": 0.8},
            )  # fmt: skip
        elif end + needed <= following and not timeline.tones()[bar.kind]:
            axes.text(end + 0.05 * inch, middle, bar.label, va="center_baseline", fontsize=_SIZE - 1)


def _strip(row: int, layout: _Layout) -> tuple[float, float]:
    """The middle and the height of the bars of a row, in rows."""
    return (row + 0.66, 0.46) if layout.name_above else (row + 0.5, 0.7)


def _draw_marks(axes: "Axes", timeline: Timeline, places: dict[str, int], layout: _Layout) -> None:
    for number, (mark, step) in enumerate(zip(in_order(timeline.marks), _steps(timeline, layout), strict=True), 1):
        colour, style = (SEVERE, "-") if mark.severe else (INK, ":")
        row = places.get(mark.lane or "")
        top, bottom = 0.0, axes.get_ylim()[0]
        if row is not None:
            middle, height = _strip(row, layout)
            top, bottom = middle - 0.6 * height, middle + 0.6 * height
            shape = "X" if mark.severe else "D"
            axes.plot(mark.at, middle, shape, color=colour, markeredgecolor=PAPER, markersize=8, zorder=5)
        width = 1.8 if mark.severe else 1.1
        axes.plot([mark.at] * 2, [top, bottom], linestyle=style, color=colour, linewidth=width, zorder=4)
        text = f"✗{number}" if mark.severe else str(number)
        above = (0.18 * step - 0.1) / layout.lane
        axes.text(mark.at, -above, text, color=colour, ha="center", va="center", weight="bold")


def _steps(timeline: Timeline, layout: _Layout) -> list[int]:
    """How high above the lanes the number of each mark stands, from 1: numbers that would touch go up a step."""
    first, last = timeline.span()
    near = (last - first) / layout.axis * 0.27
    taken: list[float] = []
    steps = []
    for mark in in_order(timeline.marks):
        step = next((step for step, at in enumerate(taken) if at + near <= mark.at), len(taken))
        taken[step : step + 1] = [mark.at]
        steps.append(step + 1)
    return steps


def _marks_in_words(timeline: Timeline, layout: _Layout) -> list[tuple[str, str, str]]:
    """Lines of number, time and words; the first two are empty where a line goes on."""
    lines = []
    for number, mark in enumerate(in_order(timeline.marks), 1):
        first, *more = textwrap.wrap(f"{mark.lane}: {mark.label}" if mark.lane else mark.label, layout.words) or [""]
        lines.append((f"✗{number}" if mark.severe else str(number), f"{mark.at:+.1f} s", first))
        lines += [("", "", line) for line in more]
    return lines


def _tone(timeline: Timeline, bar: Bar) -> int:
    labels = timeline.tones()[bar.kind]
    return labels.index(bar.label) if labels else 1


def _swatches(timeline: Timeline) -> list["Patch"]:
    """The legend: one swatch per kind, or per kind and label where the labels have tones of their own."""
    from matplotlib.patches import Patch

    return [
        Patch(
            facecolor=TINTS[kind], edgecolor=INK, linewidth=0.7, hatch=_HATCHES[kind] * _DENSITIES[tone] or None,
            label=label,
        )
        for kind, labels in timeline.tones().items()
        for tone, label in (
            enumerate(f"{_SINGULAR[kind]}: {label}" for label in labels) if labels else [(1, _SINGULAR[kind])]
        )
    ]  # fmt: skip


_SINGULAR: dict[BarKind, str] = {kind: kind.replace("-", " ") for kind in HEADINGS}


def tidy(svg: str, title: str) -> str:
    """Only the element, described for those who do not see it, without ids that a second picture would repeat."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # As a style sheet it would reach out of the picture into the page.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'<g id="[\w.]+_\d+"', "<g", svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    style = "stroke-linejoin: round; stroke-linecap: butt"
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" style="{style}" ', 1)
