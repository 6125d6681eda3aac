"""Timelines: what they are made of, and how they are shown as a picture and as text."""

from reports.timeline.model import Bar, BarKind, Mark, Timeline, from_json, to_json
from reports.timeline.svg import NARROW_SUFFIX, render_svg, write_pictures
from reports.timeline.text import to_text

__all__ = [
    "NARROW_SUFFIX",
    "Bar",
    "BarKind",
    "Mark",
    "Timeline",
    "from_json",
    "render_svg",
    "to_json",
    "to_text",
    "write_pictures",
]
