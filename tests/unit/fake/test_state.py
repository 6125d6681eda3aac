from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drivers.fake.state import FileStore, HeldClaim, HeldDevice, StateError

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node

CLAIM = HeldClaim("uid-1", "default", "claim", (HeldDevice("pool", "device-0", ("r0",), "share", True),), "2.0.0")


def test_overlapping_instances_share_what_is_prepared(node: Node) -> None:
    old, new = node.start(version="1.0.0"), node.start(version="2.0.0")
    claim, other = node.claim("device-0"), node.claim("device-0")
    old.prepare(claim)
    assert "still held" in new.prepare(other)[other.uid].error
    assert new.prepare(claim)[claim.uid].devices[0].device_name == "device-0"
    new.unprepare(claim)
    assert node.cdi_files() == []
    assert not old.prepare(other)[other.uid].error


def test_a_restart_remembers(node: Node) -> None:
    first = node.start()
    claim, other = node.claim("device-0"), node.claim("device-0")
    first.prepare(claim)
    first.end()
    second = node.start()
    assert "still held" in second.prepare(other)[other.uid].error
    second.unprepare(claim)
    assert node.cdi_files() == []


@pytest.mark.parametrize(("writer", "reader"), [(1, 2), (2, 1), (1, 1), (2, 2)])
def test_either_version_reads_what_the_other_wrote(tmp_path: Path, writer: int, reader: int) -> None:
    with FileStore(tmp_path / "state.json", writer).transaction() as claims:
        claims[CLAIM.uid] = CLAIM
    with FileStore(tmp_path / "state.json", reader).transaction() as claims:
        (found,) = claims.values()
        claims["uid-2"] = CLAIM
    assert found.devices == CLAIM.devices
    assert found.prepared_by == ("2.0.0" if writer == 2 else "")
    assert json.loads((tmp_path / "state.json").read_text())["format"] == reader


def test_a_failed_transaction_changes_nothing(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "state.json", 1)

    def fail() -> None:
        with store.transaction() as claims:
            claims[CLAIM.uid] = CLAIM
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.transaction() as claims:
        assert claims == {}


def _valid(path: Path) -> str:
    with FileStore(path, 2).transaction() as claims:
        claims[CLAIM.uid] = CLAIM
    return path.read_text()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda text: text[: len(text) // 2], "JSONDecodeError"),
        (lambda text: text.replace("device-0", "device-1"), "wrong checksum"),
        (lambda text: text.replace('"format": 2', '"format": 3'), "format 3 is newer than 2"),
        (lambda _: "[]", "TypeError"),
        (lambda _: "", "JSONDecodeError"),
    ],
    ids=["half", "altered", "newer", "other", "empty"],
)
def test_an_unusable_file_is_named_with_the_reason(tmp_path: Path, spoil: Callable[[str], str], reason: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(spoil(_valid(path)))
    with pytest.raises(StateError, match=reason) as caught, FileStore(path, 2).transaction():
        pass
    assert str(path) in str(caught.value)


def test_corrupt_state_fails_the_start_until_the_file_is_moved(node: Node) -> None:
    first = node.start()
    claim = node.claim("device-0")
    first.prepare(claim)
    first.end()
    state = first.settings.data_dir / "state.json"
    state.write_text("{")
    failed = node.spawn(wait=False)
    assert failed.process is not None
    _, log = failed.process.communicate(timeout=10)
    assert failed.process.returncode == 65
    assert str(state) in log.splitlines()[-1]
    assert node.sockets() == set()
    state.rename(state.with_suffix(".broken"))
    healed = node.start()
    assert healed.unprepare(claim)[claim.uid].error == ""
    assert node.cdi_files() == []


def test_state_that_breaks_while_serving_is_an_error_of_the_claim(node: Node) -> None:
    driver = node.start()
    claim = node.claim("device-0")
    (driver.settings.data_dir / "state.json").write_text("{")
    for answer in (driver.prepare(claim), driver.unprepare(claim)):
        assert "state.json cannot be used" in answer[claim.uid].error
