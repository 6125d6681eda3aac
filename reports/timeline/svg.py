"""Draw a timeline as an SVG: readable in black and white, the same bytes for the same timeline."""

import hashlib
import io
import re
import textwrap
from datetime import UTC, datetime
from html import escape
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
    "registration": ".",
    "slice": "--",
    "claim": "\\",
    "pod": "/",
}
# How dense the hatch of a kind is for its first, second, ... label; a kind with one tone takes the second.
_DENSITIES = (0, 2, 4, 7)

# Inches; the gutter on the left holds the names of the lanes.
_WIDTH, _GUTTER, _RIGHT, _ROW, _LINE = 9.0, 2.3, 0.25, 0.22, 0.17
_SIZE = 8
_CHARACTER = 0.068  # the width of a usual character of that size
_Row = tuple[BarKind, str, list[Bar]]


def render_svg(timeline: Timeline) -> str:
    """The picture as a `<svg>` element without prolog: a file of its own, or part of a page.

    Its colours are the constants of this module, so that a page can put its own in their place.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    timeline = timeline.redacted()
    buffer = io.StringIO()
    with mpl.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": hashlib.sha256(repr(timeline).encode()).hexdigest(),
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": _SIZE,
            "hatch.linewidth": 0.6,
            "text.color": INK,
            "text.parse_math": False,
            "axes.labelcolor": INK,
        }
    ):
        figure = Figure(facecolor=PAPER)
        FigureCanvasSVG(figure)
        _draw(timeline, figure)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _tidy(buffer.getvalue(), timeline.title)


def _draw(timeline: Timeline, figure: "Figure") -> None:
    """Lay the figure out from top to bottom: title, numbers of the marks, lanes, axis, the marks in words, legend."""
    rows = _rows(timeline)
    words = _marks_in_words(timeline)
    swatches = _swatches(timeline)
    steps = _steps(timeline)
    top, axis = 0.4 + 0.18 * max(steps, default=0), 0.5
    lanes = max(len(rows), 1) * _ROW
    height = top + lanes + axis + _LINE * len(words) + 0.22 * -(-len(swatches) // 4) + 0.15
    figure.set_size_inches(_WIDTH, height)
    figure.text(0.1 / _WIDTH, 1 - 0.2 / height, timeline.title, fontsize=_SIZE + 2, weight="bold", va="center")

    axes = figure.add_axes(
        (_GUTTER / _WIDTH, 1 - (top + lanes) / height, (_WIDTH - _GUTTER - _RIGHT) / _WIDTH, lanes / height)
    )
    _draw_axes(axes, timeline, len(rows))
    beside = axes.get_yaxis_transform()
    places: dict[str, int] = {}
    for number, (kind, name, bars) in enumerate(rows):
        if bars:
            places[name] = number
            axes.text(-0.008, number + 0.5, shorten(name, 34), ha="right", va="center", transform=beside)
            _draw_lane(axes, timeline, number, bars)
        else:
            left = (0.1 - _GUTTER) / (_WIDTH - _GUTTER - _RIGHT)
            axes.text(left, number + 0.55, HEADINGS[kind], weight="bold", va="center", transform=beside)
            axes.axhline(number + 0.05, color=GRID, linewidth=0.6)
    _draw_marks(axes, timeline, places)

    for number, columns in enumerate(words):
        below = top + lanes + axis + _LINE * number
        for place, text in zip((0.1, 0.45, 1.1), columns, strict=True):
            figure.text(place / _WIDTH, 1 - below / height, text, va="center")
    if swatches:
        figure.legend(
            handles=swatches, loc="lower left", bbox_to_anchor=(0, 0), ncols=4, frameon=False, handlelength=2.6,
            handleheight=1.3, columnspacing=1.6, borderaxespad=0.4, labelspacing=0.35,
        )  # fmt: skip


def _rows(timeline: Timeline) -> list[_Row]:
    """The lanes from top to bottom; a row without bars is the heading of its kind."""
    rows: list[_Row] = []
    for kind, name, bars in timeline.lanes():
        if not rows or rows[-1][0] != kind:
            rows.append((kind, "", []))
        rows.append((kind, name, bars))
    return rows


def _draw_axes(axes: "Axes", timeline: Timeline, rows: int) -> None:
    first, last = timeline.span()
    margin = (last - first) * 0.012
    axes.set_xlim(first - margin, last + (3 * margin if any(bar.end is None for bar in timeline.bars) else margin))
    axes.set_ylim(max(rows, 1), 0)
    axes.set_yticks([])
    zero = datetime.fromtimestamp(timeline.origin, UTC)
    axes.set_xlabel(f"seconds since {zero:%Y-%m-%d %H:%M:%S} UTC", labelpad=2)
    axes.tick_params(colors=INK, length=3)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.spines["bottom"].set_color(INK)
    axes.patch.set_visible(False)


def _draw_lane(axes: "Axes", timeline: Timeline, row: int, bars: list[Bar]) -> None:
    left, right = axes.get_xlim()
    inch = (right - left) / (_WIDTH - _GUTTER - _RIGHT)
    for number, bar in enumerate(bars):
        start = bar.start
        end = right if bar.end is None else max(bar.end, start + 0.03 * inch)
        tone = _tone(timeline, bar)
        axes.barh(
            row + 0.5, end - start, left=start, height=0.7, color=TINTS[bar.kind], edgecolor=INK, linewidth=0.7,
            hatch=_HATCHES[bar.kind] * _DENSITIES[tone] or None,
        )  # fmt: skip
        if bar.end is None:
            axes.plot(right, row + 0.5, ">", color=INK, markersize=5, clip_on=False)
        following = bars[number + 1].start if number + 1 < len(bars) else right
        needed = (len(bar.label) * _CHARACTER + 0.12) * inch
        if bar.label == bar.lane:
            continue
        if needed <= end - start:
            axes.text(
                start + 0.06 * inch, row + 0.5, bar.label, va="center_baseline", fontsize=_SIZE - 1,
                bbox={"facecolor": TINTS[bar.kind], "edgecolor": "none", "pad": 0.8},
            )  # fmt: skip
        elif end + needed <= following and not timeline.tones()[bar.kind]:
            axes.text(end + 0.05 * inch, row + 0.5, bar.label, va="center_baseline", fontsize=_SIZE - 1)


def _draw_marks(axes: "Axes", timeline: Timeline, places: dict[str, int]) -> None:
    for number, (mark, step) in enumerate(zip(in_order(timeline.marks), _steps(timeline), strict=True), 1):
        at = mark.at
        colour, style = (SEVERE, "-") if mark.severe else (INK, ":")
        row = places.get(mark.lane or "")
        top, bottom = (0.0, axes.get_ylim()[0]) if row is None else (row + 0.05, row + 0.95)
        width = 1.8 if mark.severe else 1.1
        axes.plot([at, at], [top, bottom], linestyle=style, color=colour, linewidth=width, zorder=4)
        if row is not None:
            shape = "X" if mark.severe else "D"
            axes.plot(at, row + 0.5, shape, color=colour, markeredgecolor=PAPER, markersize=8, zorder=5)
        text = f"✗{number}" if mark.severe else str(number)
        axes.text(at, 0.38 - 0.8 * step, text, color=colour, ha="center", va="center", weight="bold")


def _steps(timeline: Timeline) -> list[int]:
    """How high above the lanes the number of each mark stands, from 1: numbers that would touch go up a step."""
    first, last = timeline.span()
    near = (last - first) / 25
    taken: list[float] = []
    steps = []
    for mark in in_order(timeline.marks):
        step = next((step for step, at in enumerate(taken) if at + near <= mark.at), len(taken))
        taken[step : step + 1] = [mark.at]
        steps.append(step + 1)
    return steps


def _marks_in_words(timeline: Timeline) -> list[tuple[str, str, str]]:
    """Lines of number, time and words; the first two are empty where a line goes on."""
    lines = []
    for number, mark in enumerate(in_order(timeline.marks), 1):
        first, *more = textwrap.wrap(f"{mark.lane}: {mark.label}" if mark.lane else mark.label, 110) or [""]
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


def _tidy(svg: str, title: str) -> str:
    """Only the element, described for those who do not see it, without ids that a second picture would repeat."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # As a style sheet it would reach out of the picture into the page.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'<g id="[\w.]+_\d+"', "<g", svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    style = "stroke-linejoin: round; stroke-linecap: butt"
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" style="{style}" ', 1)
