"""The clusters of all saboteurs: made before the first, deleted after the last."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from drivers.loading import load
from fixtures.check.collected import FILE
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.interruption import interrupt_once, work_undisturbed
from fixtures.cluster.kind.topology import ClusterSettings
from fixtures.cluster.progress import Say
from fixtures.options.options import OPTIONS
from fixtures.run.clusters import Clusters, kind_clusters
from fixtures.run.paths import SESSION_VARIABLE
from reports.model import load_catalogue

DEFAULTS = {
    option.name: os.environ.get(f"DRA_{option.name.upper().replace('-', '_')}", option.default) for option in OPTIONS
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--matrix", action="store_true", help="each saboteur against all checks of its practices")
    parser.addoption("--load", action="store_true", help="only what measures load, which wants the machine for itself")


def session_clusters(say: Say) -> Clusters:
    """The clusters of this session, also in its workers."""
    settings = ClusterSettings(DEFAULTS["kubernetes"], DEFAULTS["node-image"])
    return kind_clusters(Path(os.environ[SESSION_VARIABLE]), settings, load("fake"), say)


class Cluster:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.directory = Path(tempfile.mkdtemp(prefix="dra-session-"))
        os.environ[SESSION_VARIABLE] = str(self.directory)

    def say(self, text: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        reporter.write_line(text, flush=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        if self.config.option.collectonly:
            return
        interrupt_once()
        try:
            load: bool = self.config.getoption("load")
            others = {entry.topology for entry in load_catalogue(FILE)} - {"scale"}
            for topology in ("scale", "standard") if load else sorted(others):
                session_clusters(self.say).ensure(topology)
        except ClusterError as error:
            pytest.exit(str(error), returncode=2)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        work_undisturbed()
        session_clusters(self.say).close(keep=DEFAULTS["keep"] == "always")
        shutil.rmtree(self.directory, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "room: needs the cluster alone, and goes first")
    config.addinivalue_line("markers", "load: only with --load")
    if not hasattr(config, "workerinput") and SESSION_VARIABLE not in os.environ:
        config.pluginmanager.register(Cluster(config), "dra-cluster")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs the cluster alone first, and the healthy run last, when the saboteurs leave it room."""
    if not config.getoption("load"):
        config.hook.pytest_deselected(items=[item for item in items if "load" in item.keywords])
        items[:] = [item for item in items if "load" not in item.keywords]
    items.sort(key=lambda item: ("room" not in item.keywords, "saboteur" not in item.name))
