"""The report as one page that needs nothing else: no script, no network, pictures inside."""

import re
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports.clauses import PAGE, resolve
from reports.model import CheckResult, Report
from reports.phrases import (
    LEVEL_MEANINGS,
    PRACTICE_TITLES,
    SYMBOLS,
    broken,
    counts,
    driver_title,
    duration,
    not_covered,
    number,
)
from reports.timeline import NARROW_SUFFIX, svg
from reports.verdict import rejudge

_HERE = Path(__file__).parent

# The page's own colours take the place of the picture's, so that pictures follow light and dark.
_VARIABLES = {svg.INK: "ink", svg.PAPER: "card", svg.GRID: "line", svg.SEVERE: "bad"} | {
    colour: f"tint-{kind}" for kind, colour in svg.TINTS.items()
}


def to_html(report: Report, directory: Path) -> str:
    """The page; pictures of checks are read from `directory`, the one of the run, and linked where they cannot be."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "duration": duration,
        "number": number,
        "href": quote,
        "resolved": resolve,
        "moment": "{:%Y-%m-%d %H:%M:%S} UTC".format,
        "anchor": lambda check_id: f"check-{check_id}",
    }
    named = {check.id for check in broken(report)}
    return environment.get_template("index.html.j2").render(
        report=report,
        broken=broken(report),
        reasons=[reason for reason in rejudge(report).reasons if reason.split(" ", 1)[0] not in named],
        pictures={check.id: pictures for check in report.checks if (pictures := _pictures(check, directory))},
        measured=[(check, measurement) for check in report.checks for measurement in check.measurements],
        counts=counts(report),
        gap=not_covered(report),
        driver=driver_title(report),
        symbols=SYMBOLS,
        titles=PRACTICE_TITLES,
        levels=LEVEL_MEANINGS,
        page=PAGE,
        style=Markup((_HERE / "style.css").read_text(encoding="utf-8")),
    )


def _pictures(check: CheckResult, directory: Path) -> list[Markup]:
    """The pictures of a check that can be shown: none, the wide one, or the wide and the narrow one."""
    if check.timeline is None or not check.timeline.endswith(".svg"):
        return []
    wide = directory / check.timeline
    found = [_picture(path) for path in (wide, wide.with_suffix(NARROW_SUFFIX))]
    return [picture for picture in found if picture]


def _picture(path: Path) -> Markup | None:
    """The picture in a file, if it is one of ours."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if not text.startswith("<svg ") or re.search(r"<script|<foreignObject|\son\w+=|javascript:", text, re.IGNORECASE):
        return None
    pattern = "|".join(map(re.escape, _VARIABLES))
    return Markup(re.sub(pattern, lambda found: f"var(--{_VARIABLES[found[0]]})", text))
