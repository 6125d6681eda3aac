"""A timeline for a terminal."""

from reports.timeline.model import HEADINGS, Bar, Timeline, in_order, shorten

_TONES = "░▓▒█"


def to_text(timeline: Timeline, width: int = 100) -> str:
    """The same picture for a terminal: one row per lane, then what each bar and mark was, with times."""
    timeline = timeline.redacted()
    first, last = timeline.span()
    names = [name for _, name, _ in timeline.lanes()]
    gutter = min(max(map(len, names), default=0), 32) + 4
    columns = max(width - gutter, 20)
    tones = timeline.tones()

    def column(moment: float) -> int:
        return min(int((moment - first) / (last - first) * columns), columns - 1)

    left, right = f"{first:.1f} s", f"{last:.1f} s"
    rows = [timeline.title, " " * gutter + left + right.rjust(columns - len(left))]
    heading = None
    for kind, name, bars in timeline.lanes():
        if kind != heading:
            legend = ", ".join(f"{_TONES[number]} {label}" for number, label in enumerate(tones[kind]))
            rows.append(f"{HEADINGS[kind]}" + (f" ({legend})" if legend else ""))
            heading = kind
        cells = [" "] * columns
        for bar in bars:
            until = columns - 1 if bar.end is None else column(bar.end)
            tone = _TONES[tones[kind].index(bar.label)] if tones[kind] else _TONES[1]
            for cell in range(column(bar.start), max(until, column(bar.start)) + 1):
                cells[cell] = tone
            if bar.end is None:
                cells[-1] = ">"
        for mark in timeline.marks:
            if mark.lane in (None, name):
                cells[column(mark.at)] = "X" if mark.severe else "|"
        rows.append(f"  {shorten(name, gutter - 4).ljust(gutter - 2)}{''.join(cells).rstrip()}")
    rows.append("")
    for number, mark in enumerate(in_order(timeline.marks), 1):
        where = f"{mark.lane}: " if mark.lane else ""
        rows.append(f"{'X' if mark.severe else '|'} {number}. {mark.at:+.2f} s  {where}{mark.label}")
    for _, name, bars in timeline.lanes():
        stretches = ", ".join(f"{bar.label} {_stretch(bar)}" for bar in bars)
        rows.append(f"{name}: {stretches}")
    return "\n".join(rows) + "\n"


def _stretch(bar: Bar) -> str:
    return f"{bar.start:.2f} s to " + ("the end" if bar.end is None else f"{bar.end:.2f} s")
