"""The picture of an upgrade: complete, repeatable, and readable without its colours."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from reports.timeline import Bar, Mark, Timeline, from_json, render_svg, to_json, to_text, write_pictures
from reports.timeline.svg import INK, PAPER, SEVERE, TINTS

ORIGIN = 1_800_000_000.0


def upgrade() -> Timeline:
    """Two driver pods overlap on a node while eight claim pods start; the slice of the node is gone for a while."""
    bars = [
        Bar("rollout", "maxSurge 1", 8, 21, "disturbance"),
        Bar("plugin-7xk2p", "v1", -2, 17, "driver-pod"),
        Bar("plugin-q9d4z", "v2", 9, None, "driver-pod"),
        Bar("worker/d.fake.dra", "generation 1", -1, 16, "slice"),
        Bar("worker/d.fake.dra", "generation 2", 21, None, "slice"),
    ]
    for number in range(8):
        start = 1 + 3 * number
        bars.append(Bar(f"claim-pod-{number}", "Pending", start, start + 0.6, "pod"))
        bars.append(Bar(f"claim-pod-{number}", "Running", start + 0.6, None, "pod"))
    marks = (
        Mark(None, 8, "rollout begins"),
        Mark(None, 16, "no slice for 4.7 s", severe=True),
        Mark("claim-pod-5", 17, "FailedPrepareDynamicResources", severe=True),
    )
    return Timeline("slices-continuous <on> worker & co", ORIGIN, tuple(bars), marks)


def words(svg: str) -> list[str]:
    return [text for element in ET.fromstring(svg).iter() if (text := (element.text or "").strip())]


def test_the_picture_says_everything_that_happened() -> None:
    said = words(render_svg(upgrade()))
    for expected in (
        "slices-continuous <on> worker & co",
        "driver instances",
        "resource slices",
        "plugin-7xk2p",
        "plugin-q9d4z",
        "claim-pod-7",
        "driver pod: v1",
        "driver pod: v2",
        "pod: Pending",
        "pod: Running",
        "no slice for 4.7 s",
        "claim-pod-5: FailedPrepareDynamicResources",
        "+16.0 s",
        "✗2",
        "seconds since 2027-01-15 08:00:00 UTC",
    ):
        assert expected in said


def test_the_narrow_picture_says_the_same_on_a_phone() -> None:
    wide, narrow = (ET.fromstring(render_svg(upgrade(), narrow=narrow)) for narrow in (False, True))
    assert float(narrow.get("width", "").removesuffix("pt")) < 310
    assert float(wide.get("width", "").removesuffix("pt")) > 640
    said = " ".join(words(render_svg(upgrade(), narrow=True)))
    for expected in words(render_svg(upgrade())):
        assert expected in said or re.fullmatch("[\N{MINUS SIGN}\\d.]+", expected), (
            expected
        )  # axes have different ticks


def test_pictures_for_a_page_and_for_a_phone_lie_side_by_side(tmp_path: Path) -> None:
    write_pictures(upgrade(), tmp_path / "timeline.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["timeline.narrow.svg", "timeline.svg"]


def test_the_same_timeline_gives_the_same_bytes() -> None:
    assert render_svg(upgrade()) == render_svg(upgrade())


def test_two_pictures_on_one_page_share_no_id() -> None:
    other = Timeline("another", ORIGIN, upgrade().bars)
    ids = [
        {element.get("id") for element in ET.fromstring(render_svg(timeline)).iter()} - {None}
        for timeline in (upgrade(), other)
    ]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_phases_differ_without_colour() -> None:
    """Each kind and label pair has its own pattern or none at all, within its kind."""
    svg = render_svg(upgrade())
    assert svg.count("<pattern") == 4  # disturbance; second driver version; second generation; Running


def test_only_known_colours_are_used_so_that_a_page_can_replace_them() -> None:
    assert set(re.findall(r"#[0-9a-f]{6}\b", render_svg(upgrade()))) <= {INK, PAPER, SEVERE, "#d0d7de", *TINTS.values()}


def test_nothing_reaches_out_of_the_picture() -> None:
    svg = render_svg(upgrade())
    assert svg.startswith("<svg ")
    assert 'role="img"' in svg
    assert "<style" not in svg
    assert "<script" not in svg


@pytest.mark.parametrize("number", [0, 1, 5, 60])
@pytest.mark.parametrize("seconds", [0.0, 0.2, 90.0, 4000.0])
def test_any_number_of_bars_and_any_length(number: int, seconds: float) -> None:
    bars = tuple(
        Bar(f"pod-{index}-{'x' * index}", f"name-{index}", index, index + seconds, "pod") for index in range(number)
    )
    timeline = Timeline("many", ORIGIN, bars, (Mark("no such lane", 1, ""), Mark(None, 1, "x" * 400)))
    svg, text = render_svg(timeline), to_text(timeline)
    assert float(ET.fromstring(svg).get("height", "0pt").removesuffix("pt")) < 72 * 20
    assert all(f"pod-{index}-" in text for index in range(number))


def test_text_for_a_terminal() -> None:
    text = to_text(upgrade(), width=80)
    chart, _, details = text.partition("\n\n")
    assert all(len(line) <= 80 for line in chart.splitlines())
    assert "driver instances (░ v1, ▓ v2)" in chart
    assert "X 2. +16.00 s  no slice for 4.7 s" in details
    assert "claim-pod-5: Pending 16.00 s to 16.60 s, Running 16.60 s to the end" in details
    lane = next(line for line in chart.splitlines() if line.startswith("  worker/d.fake.dra"))
    assert "░" in lane
    assert lane.endswith(">")


def test_secrets_do_not_leave_in_pictures() -> None:
    timeline = Timeline("t", ORIGIN, (), (Mark(None, 0, "sent Authorization: Bearer abcdefgh\x00"),))
    assert "abcdefgh" not in render_svg(timeline) + to_text(timeline)


def test_a_timeline_survives_a_file() -> None:
    assert from_json(to_json(upgrade())) == upgrade()


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = "import sys, reports.timeline; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
