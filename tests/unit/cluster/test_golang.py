"""What is asked of Go."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fixtures.cluster.commands import Argv, Commands
from fixtures.cluster.node_image import golang

UPSTREAM = """\
module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
	github.com/x/y v1.2.3
	k8s.io/api v0.0.0
	k8s.io/component-base v0.0.0
	k8s.io/utils v0.0.0-20240102154912-e7106e64919e
)
"""


class FakeGo(Commands):
    """Answers `go mod download`, and remembers `go build`."""

    def __init__(self, tmp_path: Path):
        super().__init__()
        self._go_mod = tmp_path / "upstream.mod"
        self._go_mod.write_text(UPSTREAM)
        self.built: list[str] = []
        self.go_mod = ""
        self.built_env: Mapping[str, str] = {}

    def run(self, argv: Argv, **options: Any) -> str:
        if list(argv[:3]) == ["go", "mod", "download"]:
            return json.dumps({"GoMod": str(self._go_mod)})
        self.built, self.built_env = [str(word) for word in argv], options["env"]
        self.go_mod = (options["cwd"] / "go.mod").read_text()
        return ""


def build(wanted: golang.GoCommands, tmp_path: Path) -> FakeGo:
    go, into = FakeGo(tmp_path), tmp_path / "part"
    into.mkdir()
    wanted.build(into, go, tmp_path / "log")
    assert list(into.iterdir()) == [], "only what was built may stay"
    return go


def test_staging_modules_are_replaced_and_others_are_not(tmp_path: Path) -> None:
    assert build(golang.kubernetes("1.36.3"), tmp_path).go_mod.splitlines() == [
        "module node",
        "go 1.26.0",
        "require k8s.io/kubernetes v1.36.3",
        "replace k8s.io/api => k8s.io/api v0.36.3",
        "replace k8s.io/component-base => k8s.io/component-base v0.36.3",
    ]


def test_kubernetes_knows_its_version(tmp_path: Path) -> None:
    built = " ".join(build(golang.kubernetes("1.36.3"), tmp_path).built)
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        for value in ("gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36", "gitTreeState=clean"):
            assert f"-X {package}.{value}" in built
    assert built.endswith("k8s.io/kubernetes/cmd/kubectl")


def test_kubelet_can_be_built_alone(tmp_path: Path) -> None:
    go = build(golang.kubelet("1.32.13"), tmp_path)
    assert [word for word in go.built if "/cmd/" in word] == ["k8s.io/kubernetes/cmd/kubelet"]
    assert "gitVersion=v1.32.13" in " ".join(go.built)


def test_everything_is_static_and_relocatable(tmp_path: Path) -> None:
    go = build(golang.KIND, tmp_path)
    assert go.built_env["CGO_ENABLED"] == "0"
    assert "-trimpath" in go.built
    assert go.built[-1] == "sigs.k8s.io/kind"
    assert "replace" not in go.go_mod


@pytest.mark.parametrize(
    ("wanted", "title"),
    [
        (golang.KIND, "kind 0.33.0"),
        (golang.etcd("3.7.0"), "etcd 3.7.0"),
        (golang.NODE_TOOLS[0], "containerd, containerd-shim-runc-v2, ctr 2.4.2"),
    ],
)
def test_titles_are_for_people(wanted: golang.GoCommands, title: str) -> None:
    assert wanted.title == title
