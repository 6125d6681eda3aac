"""What is read off the host."""

from pathlib import Path

import pytest

from fixtures.cluster import host
from fixtures.cluster.errors import ClusterError

STATUS = "Name:\tsh\nCapEff:\t0000000000000000\nCapBnd:\t{}\nCapAmb:\t0000000000000000\n"


@pytest.mark.parametrize(
    ("bounding", "present"),
    [("000001ffffffffff", True), ("000001fffeffffff", False), ("0000000001000000", True), ("0000000000000000", False)],
)
def test_capability_is_read_from_the_bounding_set(bounding: str, present: bool) -> None:
    assert host.has_capability(host.CAP_SYS_RESOURCE, STATUS.format(bounding)) is present


def test_enough_space_is_no_error(tmp_path: Path) -> None:
    host.require_space(tmp_path, 0, "Nothing")


def test_too_little_space_names_place_and_remedy(tmp_path: Path) -> None:
    with pytest.raises(ClusterError) as caught:
        host.require_space(tmp_path, 10**9, "A cluster")
    assert str(tmp_path) in caught.value.problem
    assert "A cluster needs 1000000000 GB" in caught.value.problem
    assert "docker image prune" in caught.value.remedy


def test_process_that_does_not_exist_has_no_start() -> None:
    assert host.process_start(2**22 + 1) is None


@pytest.mark.parametrize("present", [1024, 8192])
def test_sufficient_inotify_limit_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: int) -> None:
    limit, said = tmp_path / "limit", list[str]()
    limit.write_text(f"{present}\n")
    monkeypatch.setattr(host, "INOTIFY_LIMIT", limit)
    host.raise_inotify_limit(said.append)
    assert limit.read_text() == f"{present}\n"
    assert said == []


def test_low_inotify_limit_is_raised_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, said = tmp_path / "limit", list[str]()
    limit.write_text("128\n")
    monkeypatch.setattr(host, "INOTIFY_LIMIT", limit)
    host.raise_inotify_limit(said.append)
    assert limit.read_text() == "1024\n"
    assert "128" in said[0]
