"""The tool that renders a driver is on PATH once it was asked for, or what can be done is said."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from drivers.loading import load
from drivers.manifest import DriverManifest
from fixtures.cluster import tools
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.node_image.golang import HELM, KUSTOMIZE, GoCommands
from fixtures.cluster.node_image.parts import Parts

GO = """\
#!/bin/sh
echo "dial tcp: no such host" >&2
exit 1
"""


def installed_by(kind: str) -> DriverManifest:
    fake = load("fake")
    return fake.model_copy(update={"install": fake.install.model_copy(update={"kind": kind})})


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on PATH; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


def program(place: Path, text: str = "#!/bin/sh\n") -> None:
    place.write_text(text)
    place.chmod(0o755)


def built(tool: GoCommands, cache: Path) -> Path:
    return Parts(cache / "dra-conformance/parts").make(tool.name, tool.inputs, lambda into: program(into / tool.name))


@pytest.mark.parametrize(("kind", "tool"), [("helm", HELM), ("kustomize", KUSTOMIZE)])
def test_a_tool_that_was_built_before_comes_first_on_path(path: Path, kind: str, tool: GoCommands) -> None:
    part = built(tool, path.parent / "cache")
    said: list[str] = []
    program(path / "go")
    tools.provide(installed_by(kind), said.append)
    assert os.environ["PATH"] == f"{part}{os.pathsep}{path}"
    assert shutil.which(kind) == str(part / kind)
    tools.provide(installed_by(kind), said.append)
    assert os.environ["PATH"].count(str(part)) == 1, "now it is found"
    assert said == []


def test_a_tool_on_path_is_the_one(path: Path) -> None:
    program(path / "helm")
    built(HELM, path.parent / "cache")
    tools.provide(installed_by("helm"), print)
    assert os.environ["PATH"] == str(path)


@pytest.mark.parametrize("kind", ["fake", "manifest", "preinstalled"])
def test_other_drivers_need_none(path: Path, kind: str) -> None:
    tools.provide(installed_by(kind), print)
    assert os.environ["PATH"] == str(path)


def test_without_go_the_remedy_is_to_install_either(path: Path) -> None:
    assert not shutil.which("go", path=str(path))
    with pytest.raises(ClusterError) as caught:
        tools.provide(installed_by("helm"), print)
    assert caught.value.problem == f"There is no `go` command to build helm {HELM.version} from source with."
    assert "Install Go" in caught.value.remedy
    assert caught.value.remedy.endswith("or install helm and put it on PATH.")
    assert "node-image" not in caught.value.remedy


def test_a_build_that_fails_says_so_and_what_else_can_be_done(path: Path) -> None:
    program(path / "go", GO)
    said: list[str] = []
    with pytest.raises(ClusterError) as caught:
        tools.provide(installed_by("kustomize"), said.append)
    assert said == [f"[1/1] building kustomize {KUSTOMIZE.version}"]
    assert "dial tcp: no such host" in caught.value.problem
    assert caught.value.remedy.endswith("or install kustomize and put it on PATH.")


def test_a_command_prints_where_a_tool_is(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tools.main(["helm"]) == 2
    assert "Install Go" in capsys.readouterr().err
    program(path / "helm")
    assert tools.main(["helm"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
