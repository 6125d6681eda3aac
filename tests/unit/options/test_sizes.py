"""How large a load may be, and what is said of one that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.options.sizes import SIZES, SizeError, size_of


def test_the_reference_is_the_pages() -> None:
    size = size_of("reference")
    assert (size.nodes, size.devices, size.lasting, size.churning, size.rounds, size.rate) == (
        100,
        800,
        720,
        80,
        10,
        10,
    )
    assert size.waves * size.devices >= 5000
    assert SIZES["large"].devices == 8000


def test_a_file_has_the_same_words(tmp_path: Path) -> None:
    file = tmp_path / "size.yaml"
    file.write_text("{nodes: 2, devicesPerNode: 4, lasting: 6, churning: 2, swept: 8}")
    assert size_of(str(file)).devices == 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{nodes: 2, lasting: 15, churning: 2, swept: 1}", "17 pods at once .* more than the 16 devices"),
        ("{nodes: 2, lasting: 1, churning: 1, swept: 17}", "swept: 17 pods"),
        ("{nodes: 2, lasting: 1, churning: 1, swept: 1, rate: -1}", "rate: .*greater than 0"),
        ("{nodes: 0, lasting: 1, churning: 1, swept: 1}", "nodes: .*greater than or equal to 1"),
        ("{nodes: 2, lasting: 1, churning: 1, swept: 1, pods: 3}", "pods: "),
        ("{nodes: 2", "is no YAML"),
        ("just words", "valid dictionary"),
    ],
)
def test_a_load_that_cannot_be_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "size.yaml"
    file.write_text(text)
    with pytest.raises(SizeError, match=says):
        size_of(str(file))


def test_an_unknown_size_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SizeError, match="'huge' is none of small, reference, large, and no file"):
        size_of("huge")
