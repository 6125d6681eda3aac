"""What happened when, as bars in lanes: driver instances, registrations, slices, claims, pods and disturbances.

A phase of a lane (Pending, then Running) is a bar of its own that begins where the one before it ends. Times are
seconds since the origin, which itself is in seconds since the epoch.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, get_args

from reports.redact import redact

BarKind = Literal["driver-pod", "registration", "slice", "pod", "claim", "disturbance"]

# The order of the picture: the cause above its effects.
KINDS: tuple[BarKind, ...] = ("disturbance", "driver-pod", "registration", "slice", "claim", "pod")
HEADINGS: dict[BarKind, str] = {
    "disturbance": "disturbances",
    "driver-pod": "driver instances",
    "registration": "registrations with the kubelet",
    "slice": "resource slices",
    "claim": "claims",
    "pod": "pods",
}
assert set(KINDS) == set(get_args(BarKind))

_MOST_TONES = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """One stretch of one lane; `end` is None while it still lasted when the recording ended."""

    lane: str
    label: str
    start: float
    end: float | None
    kind: BarKind


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment: in one lane, or across all of them when `lane` is None. Severe ones are where the check failed."""

    lane: str | None
    at: float
    label: str
    severe: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """All that a picture shows. `origin` is the moment that is called 0, in seconds since the epoch."""

    title: str
    origin: float
    bars: Sequence[Bar]
    marks: Sequence[Mark] = ()

    def redacted(self) -> "Timeline":
        """The same with every text fit to leave."""
        return replace(
            self,
            title=redact(self.title),
            bars=tuple(replace(bar, lane=redact(bar.lane), label=redact(bar.label)) for bar in self.bars),
            marks=tuple(
                replace(mark, lane=redact(mark.lane) if mark.lane else None, label=redact(mark.label))
                for mark in self.marks
            ),
        )

    def span(self) -> tuple[float, float]:
        """The first and the last moment, at least a tenth of a second apart."""
        moments = [mark.at for mark in self.marks]
        moments += [moment for bar in self.bars for moment in (bar.start, bar.end) if moment is not None]
        moments = moments or [0.0]
        return min(moments), max(*moments, min(moments) + 0.1)

    def lanes(self) -> Iterator[tuple[BarKind, str, list[Bar]]]:
        """The lanes by kind, then by their first bar; the bars of a lane in the order of time."""
        for kind in KINDS:
            lanes: dict[str, list[Bar]] = {}
            for bar in sorted((bar for bar in self.bars if bar.kind == kind), key=lambda bar: (bar.start, bar.lane)):
                lanes.setdefault(bar.lane, []).append(bar)
            yield from ((kind, name, bars) for name, bars in lanes.items())

    def tones(self) -> dict[BarKind, list[str]]:
        """The labels of each kind by first appearance, where they are few (phases, versions): each gets its own tone.

        A kind whose labels are many (names) has one tone, and an empty list here.
        """
        tones: dict[BarKind, list[str]] = {}
        for kind in KINDS:
            of_kind = sorted((bar for bar in self.bars if bar.kind == kind), key=lambda bar: (bar.start, bar.lane))
            if of_kind:
                labels = list(dict.fromkeys(bar.label for bar in of_kind))
                tones[kind] = labels if 1 < len(labels) <= _MOST_TONES else []
        return tones


def to_json(timeline: Timeline) -> str:
    """A timeline for a file, to be drawn later or elsewhere."""
    return json.dumps(asdict(timeline))


def from_json(text: str) -> Timeline:
    """Read what `to_json` wrote.

    Raises ValueError, KeyError or TypeError for anything else.
    """
    fields = json.loads(text)
    return Timeline(
        title=fields["title"],
        origin=fields["origin"],
        bars=tuple(Bar(**bar) for bar in fields["bars"]),
        marks=tuple(Mark(**mark) for mark in fields["marks"]),
    )


def in_order(marks: Sequence[Mark]) -> list[Mark]:
    """Marks by time: the order in which picture and text number them."""
    return sorted(marks, key=lambda mark: (mark.at, mark.label))


def shorten(name: str, longest: int) -> str:
    """A name that fits, cut in its middle: both its beginning and its end tell pods of one owner apart."""
    if len(name) <= longest:
        return name
    head = (longest - 1) // 2
    return f"{name[:head]}…{name[len(name) - (longest - 1 - head) :]}"
