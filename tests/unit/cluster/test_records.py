"""Who owns a cluster, and what a later session may do with it."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.cluster import host
from fixtures.cluster.kind.records import Make, Owner, Record, decide, read_record

MAKE = Make(topology="standard", kubernetes="1.37.2", recipe="abc")
DEAD = Owner(pid=1, started=-1, boot=host.boot_id(), pid_namespace=host.pid_namespace())


def record(tmp_path: Path, owner: Owner = DEAD, *, kept: bool = False) -> Record:
    return Record("dra-standard-000001", tmp_path / "dra-standard-000001", MAKE, owner, Path("/usr/bin/docker"), kept)


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = record(tmp_path, Owner.current(), kept=True)
    written.write()
    assert read_record(written.directory) == written


@pytest.mark.parametrize("text", ["", "{}", '{"name": "x"}', "[]", '{"name": "x", "make": 1, "owner": 2}'])
def test_damaged_record_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "record.json").write_text(text)
    assert read_record(tmp_path) is None


def test_missing_record_is_no_record(tmp_path: Path) -> None:
    assert read_record(tmp_path / "nowhere") is None


def test_this_process_lives() -> None:
    assert Owner.current().may_live


def test_ended_process_does_not_live() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        owner = replace(Owner.current(), pid=process.pid, started=host.process_start(process.pid) or 0)
        assert owner.may_live
        process.kill()
    assert not owner.may_live


def test_killed_but_not_yet_waited_for_does_not_live() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert host.process_start(process.pid) is None


def test_another_process_with_the_same_number_is_somebody_else() -> None:
    assert not replace(Owner.current(), started=1).may_live


def test_nobody_survives_a_boot() -> None:
    assert not replace(Owner.current(), boot="another").may_live


def test_process_in_another_container_cannot_be_judged() -> None:
    assert replace(DEAD, pid_namespace="pid:[1]").may_live


def test_owner_survives_as_a_label() -> None:
    assert Owner.from_label(Owner.current().to_label()) == Owner.current()


@pytest.mark.parametrize("label", ["", "1/2", "a/b/c/d", "1/2/3/4/5"])
def test_foreign_label_is_no_owner(label: str) -> None:
    assert Owner.from_label(label) is None


def test_cluster_of_a_living_session_is_left_even_when_kept(tmp_path: Path) -> None:
    assert decide(record(tmp_path, Owner.current()), MAKE) == "leave"
    assert decide(record(tmp_path, Owner.current(), kept=True), MAKE) == "leave"


def test_cluster_of_a_dead_session_is_deleted(tmp_path: Path) -> None:
    assert decide(record(tmp_path), MAKE) == "delete"


def test_kept_cluster_that_fits_is_adopted(tmp_path: Path) -> None:
    assert decide(record(tmp_path, kept=True), MAKE) == "adopt"


def test_kept_cluster_of_an_old_recipe_is_deleted(tmp_path: Path) -> None:
    assert decide(record(tmp_path, kept=True), replace(MAKE, recipe="new")) == "delete"


@pytest.mark.parametrize("wanted", [replace(MAKE, kubernetes="1.36.3"), replace(MAKE, topology="scale")])
def test_kept_cluster_for_another_use_is_left(tmp_path: Path, wanted: Make) -> None:
    assert decide(record(tmp_path, kept=True), wanted) == "leave"
