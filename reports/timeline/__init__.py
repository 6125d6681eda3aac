"""Timelines: what they are made of, and how they are shown as a picture and as text."""

from reports.timeline.model import Bar, BarKind, Mark, Timeline, from_json, to_json
from reports.timeline.svg import render_svg
from reports.timeline.text import to_text

__all__ = ["Bar", "BarKind", "Mark", "Timeline", "from_json", "render_svg", "to_json", "to_text"]
