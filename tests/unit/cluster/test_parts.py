"""Built parts are kept whole, and found again by what they are made from."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fixtures.cluster.node_image.parts import UNUSED_AFTER, Parts, digest


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def fill(directory: Path) -> None:
    (directory / "file").write_text("built")


def test_part_is_found_by_its_inputs(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    assert parts.find("tool", {"version": 1}) is None
    made = parts.make("tool", {"version": 1}, fill)
    assert parts.find("tool", {"version": 1}) == made
    assert parts.find("tool", {"version": 2}) is None
    assert (made / "file").read_text() == "built"


def test_failed_build_leaves_no_part_and_can_be_repeated(tmp_path: Path) -> None:
    parts = Parts(tmp_path)

    def fail(directory: Path) -> None:
        (directory / "half").touch()
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        parts.make("tool", 1, fail)
    assert parts.find("tool", 1) is None
    made = parts.make("tool", 1, fill)
    assert [file.name for file in made.iterdir()] == ["file"]


def test_sessions_that_want_the_same_part_make_it_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def build(directory: Path) -> None:
        made.append(directory)
        fill(directory)

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: Parts(tmp_path).make("tool", 1, build), range(4)))
    assert len(made) == len(found) == 1


def test_only_parts_that_nobody_used_are_forgotten(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    old, used = parts.make("tool", "old", fill), parts.make("tool", "used", fill)
    long_ago = time.time() - UNUSED_AFTER - 1
    for part in (old, used):
        os.utime(part, (long_ago, long_ago))
    parts.find("tool", "used")
    parts.forget_unused()
    assert list(tmp_path.iterdir()) == [used]


def test_digest_depends_on_contents_only() -> None:
    assert digest({"a": 1, "b": [Path("/x")]}) == digest({"b": [Path("/x")], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
