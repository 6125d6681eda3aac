"""Where a run takes place, and the recorder that each of its clusters has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drivers.loading import load
from fixtures.check.decorator import Check, check
from fixtures.cluster.existing.cluster import ExistingCluster
from fixtures.cluster.handle import ClusterHandle
from fixtures.cluster.kind.clusters import KindClusters
from fixtures.options.options import OPTIONS, parse
from fixtures.recorder.reading import Recorder
from fixtures.run.clusters import Clusters, clusters
from fixtures.run.paths import RunPaths


def test_a_fresh_place_is_unique_and_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRA_SESSION_DIR", raising=False)
    first, second = RunPaths.fresh(tmp_path / "out"), RunPaths.fresh(tmp_path / "out")
    assert first.run != second.run
    assert first.session != second.session
    assert first.out == tmp_path / "out" / first.run
    assert first.owner
    assert not first.session.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_run_inside_another_shares_the_session_and_owns_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRA_SESSION_DIR", str(tmp_path / "session"))
    paths = RunPaths.fresh(tmp_path)
    assert paths.session == tmp_path / "session"
    assert not paths.owner


def test_another_process_of_the_run_has_the_same_place_and_owns_nothing(tmp_path: Path) -> None:
    paths = RunPaths("run-1", tmp_path / "out", tmp_path / "session", owner=True)
    other = RunPaths.from_json(json.loads(json.dumps(paths.to_json())))
    assert (other.run, other.out, other.session) == (paths.run, paths.out, paths.session)
    assert not other.owner


def test_the_files_of_a_check_are_under_its_id(tmp_path: Path) -> None:
    paths = RunPaths("run-1", tmp_path, tmp_path, owner=True)
    assert paths.directory_of("rbac.a.b") == paths.directory_of("rbac.a.b") == tmp_path / "checks" / "rbac.a.b"
    assert (tmp_path / "checks" / "rbac.a.b").is_dir()


class Making:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.closed: list[bool] = []

    def ensure(self, topology: str) -> ClusterHandle:
        return ClusterHandle(
            topology, "c", Path("kubeconfig"), "1.37.2", (), frozenset(), Path("kubectl"), Path("docker"), self.state
        )

    def close(self, keep: bool) -> list[str]:
        self.closed.append(keep)
        return ["network c"]


def test_a_cluster_has_one_recorder_however_many_ask_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[Path, Path]] = []
    monkeypatch.setattr(Recorder, "start", lambda state, kubeconfig, _nodes: started.append((state, kubeconfig)))
    monkeypatch.setattr(Recorder, "runs", lambda _: bool(started))
    topologies: Any = Making(tmp_path)
    several = [Clusters(topologies, tmp_path, load("fake"), print) for _ in range(3)]
    assert {made.ensure("standard").name for made in several} == {"c"}
    assert started == [(tmp_path, Path("kubeconfig"))]
    assert several[0].close(keep=True) == ["network c"]
    assert topologies.closed == [True]


@pytest.mark.parametrize(("cluster", "provider"), [("kind", KindClusters), ("existing", ExistingCluster)])
def test_the_clusters_of_a_session_are_those_of_its_directory(tmp_path: Path, cluster: str, provider: type) -> None:
    options = parse({option.name: option.default for option in OPTIONS} | {"cluster": cluster}, set())
    made = clusters(RunPaths("r1", tmp_path / "out", tmp_path, owner=True), options)
    assert made.session == tmp_path
    assert isinstance(made.provider, provider)


def test_a_check_is_a_marker_with_facts_and_its_practice_is_in_its_id() -> None:
    @check("scale.metrics.exposed", level="core", source="GP-8", hint="serve it", fake=True)
    def marked() -> None: ...

    (mark,) = marked.pytestmark  # type: ignore[attr-defined]
    (facts,) = mark.args
    assert facts == Check("scale.metrics.exposed", "core", "GP-8", "serve it", fake=True)
    assert facts.practice == "scale"
    assert mark.name == "dra_check"


def asks_for_none(driver: object) -> None: ...


def asks_for_one(driver: object, quiet_node: object) -> None: ...


def asks_for_two(quiet_nodes: object) -> None: ...


@pytest.mark.parametrize(("test", "takes"), [(asks_for_none, 0), (asks_for_one, 1), (asks_for_two, 2)])
def test_a_check_takes_the_nodes_that_its_fixtures_are(test: Any, takes: int) -> None:
    marked = check("drain.order.driver-last", level="core", source="GP-6", hint="wait")(test)
    assert marked.pytestmark[0].args[0].takes == takes
