"""What the doctor finds on the host of a kind cluster; nothing is started, made or pulled."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures import doctor
from fixtures.cluster import host as place
from fixtures.cluster.node_image import bake
from fixtures.doctor import host
from fixtures.doctor.finding import ok
from fixtures.options.options import OPTIONS, Options, parse


def options(**values: str) -> Options:
    given = {option.name: option.default for option in OPTIONS}
    return parse(given | {name.replace("_", "-"): value for name, value in values.items()}, set())


@pytest.mark.parametrize(
    ("user", "programs", "level", "says"),
    [
        (0, {"dockerd"}, "OK", "none answers; a run will start it"),
        (0, {"apt-get"}, "OK", "none answers; a run will install it"),
        (0, set(), "FAIL", "none answers, and only root can start or install one"),
        (1000, {"dockerd", "apt-get"}, "FAIL", "none answers, and only root can start or install one"),
    ],
)
def test_without_an_engine_it_depends_on_who_asks(
    user: int, programs: set[str], level: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
    finding = host.docker(None)
    assert (finding.level, finding.says) == (level, says)


@pytest.mark.parametrize(
    ("chosen", "there", "level", "part"),
    [
        ({}, True, "OK", "docker has one of Kubernetes 1.37.2"),
        ({}, False, "OK", "where no registry answers, build one"),
        ({"node_image": "build"}, False, "OK", "a run will build one"),
        ({"kubernetes": "1.31.0"}, False, "WARN", "it is not known whether one can be built"),
        ({"node_image": "kindest/node:x"}, True, "OK", "kindest/node:x"),
        ({"node_image": "kindest/node:x"}, False, "WARN", "a run will pull it"),
    ],
)
def test_the_node_image_is_there_or_will_be(chosen: dict[str, str], there: bool, level: str, part: str) -> None:
    finding = host.node_image(options(**chosen), there=there)
    assert finding.level == level
    assert part in finding.says


def test_a_named_image_is_looked_for_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(bake, "image_exists", lambda _engine, name: asked.append(name))
    engine: Any = None
    assert not host.node_image_is_there(options(node_image="my:1"), engine)
    assert not host.node_image_is_there(options(), engine)
    assert asked[0] == "my:1"
    assert asked[-1] == "kindest/node:v1.37.2"


@pytest.mark.parametrize(("free", "level"), [(30e9, "OK"), (1e9, "FAIL")])
def test_a_cluster_needs_space(free: float, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert [finding.level for finding in host.space(tmp_path, 6, builds=True)] == [level, level]
    assert len(host.space(tmp_path, 6, builds=False)) == 1


def test_inotify_instances_are_enough_or_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "max_user_instances"
    monkeypatch.setattr(place, "INOTIFY_LIMIT", limit)
    limit.write_text("2048\n")
    assert host.inotify(6).level == "OK"
    limit.write_text("128\n")
    monkeypatch.setattr("os.access", lambda *_: True)
    assert "a run will set it to 1024" in host.inotify(6).says
    monkeypatch.setattr("os.access", lambda *_: False)
    assert host.inotify(6).level == "WARN"


@pytest.mark.parametrize(("kilobytes", "level"), [(20_000_000, "OK"), (2_000_000, "WARN")])
def test_nodes_need_memory(kilobytes: int, level: str, tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 1 kB\nMemAvailable:   {kilobytes} kB\n")
    assert host.memory(6, meminfo).level == level


def test_go_is_asked_for_only_where_it_may_be_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = SimpleNamespace(root=Path("/"))
    monkeypatch.setattr(host, "answering_client", lambda: Path("/docker"))
    monkeypatch.setattr(host, "_engine", lambda _: engine)
    monkeypatch.setattr(host, "docker", lambda _: ok("docker", ""))
    for there in (True, False):
        monkeypatch.setattr(host, "node_image_is_there", lambda *_, there=there: there)
        assert ("Go" in [finding.about for finding in host.examine(options())]) == (not there)


def test_before_there_is_a_cluster_only_the_host_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "examine", lambda _: [ok("docker", "")])
    findings = doctor.examine(options(), None, print)
    assert [(finding.level, finding.about) for finding in findings] == [
        *(("OK", "docker"), ("OK", "checks"), ("OK", "cluster")),
    ]
