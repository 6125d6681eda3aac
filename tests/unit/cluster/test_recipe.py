"""The node image: what it is known by, what it is made of, and which one is chosen."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.cluster.commands import CommandError
from fixtures.cluster.errors import ClusterError
from fixtures.cluster.node_image import choice, contents, recipe, rootfs, workshop
from fixtures.cluster.node_image.versions import KUBERNETES_SERVED

IMAGES = """\
registry.example/kube-apiserver:v1.37.2
registry.example/coredns/coredns:v1.14.6
registry.example/pause:3.10.2
registry.example/etcd:3.7.0-0
"""


def test_every_version_has_a_recipe_of_its_own() -> None:
    assert len({recipe.recipe_hash(version) for version in KUBERNETES_SERVED}) == len(KUBERNETES_SERVED)
    assert recipe.recipe_hash("1.37.2") == recipe.recipe_hash("1.37.2")


def test_recipe_changes_with_the_files_of_a_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = recipe.recipe_hash("1.37.2")
    for file in contents.FILES.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(contents, "FILES", tmp_path)
    assert recipe.recipe_hash("1.37.2") == before
    (tmp_path / "entrypoint.sh").write_text("#!/bin/sh\n")
    assert recipe.recipe_hash("1.37.2") != before


def test_references_are_known_by_component() -> None:
    assert contents.references_of(IMAGES) == {
        "kube-apiserver": "registry.example/kube-apiserver:v1.37.2",
        "coredns": "registry.example/coredns/coredns:v1.14.6",
        "pause": "registry.example/pause:3.10.2",
        "etcd": "registry.example/etcd:3.7.0-0",
    }


def test_every_file_of_a_node_has_a_place() -> None:
    in_images = {"podnet.sh"}
    assert {file.name for file in contents.FILES.iterdir()} == contents.PLACES.keys() | in_images


def test_node_has_our_files_and_no_services_of_a_real_machine(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for unwanted in ("dev/null", "etc/systemd/system/timers.target.wants/apt.timer"):
        (root / unwanted).parent.mkdir(parents=True)
        (root / unwanted).touch()
    (root / "etc/hostname").touch()
    directories = {name: tmp_path / name for name in ("kubernetes", "containerd", "crictl", "cni-plugins", "site")}
    for directory in directories.values():
        directory.mkdir()
    for binary in ("kubernetes/kubelet", "kubernetes/kubeadm", "kubernetes/kubectl", "cni-plugins/bridge"):
        (tmp_path / binary).touch()
    (tmp_path / "site/grpc.py").touch()
    references = contents.references_of(IMAGES)
    parts = contents.Ingredients(
        directories["kubernetes"], tmp_path, directories, references, root, directories["site"]
    )
    archive = tmp_path / "node.tar"
    with archive.open("wb") as stream:
        contents.write_node(stream, "1.37.2", parts)
    with tarfile.open(archive) as tar:
        names = {name.removeprefix("./") for name in tar.getnames()}
        version = tar.extractfile("kind/version")
        containerd = tar.extractfile("etc/containerd/config.toml")
        assert version is not None
        assert containerd is not None
        assert version.read() == b"v1.37.2"
        assert b"sandbox = 'registry.example/pause:3.10.2'" in containerd.read()
    assert {"etc/hostname", "usr/bin/kubelet", "opt/cni/bin/bridge", "opt/dra/site-packages/grpc.py"} <= names
    assert not names & {"dev/null", "etc/systemd/system/timers.target.wants/apt.timer"}


def test_files_of_packages_include_dependencies_and_compiled_modules(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for file in ("usr/lib/python3.11/a.py", "usr/lib/python3.11/__pycache__/a.cpython-311.pyc", "usr/lib/libc.so.6"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    (root / "lib").symlink_to("usr/lib")

    def run(argv: list[Any], **_: float) -> str:
        if "dpkg-query" in argv:
            return "python3\tlibc6 (>= 2.35), debconf | other, missing\nlibc6\t, \ndebconf\tperl\nperl\t, \n"
        assert argv[4:] == ["libc6", "python3"], "debconf only serves the installation"
        return "/.\n/usr/lib/python3.11/a.py\n/lib/libc.so.6\n/usr/share/doc/gone\n"

    found = rootfs.files_of_packages(root, ["python3"], SimpleNamespace(run=run))  # type: ignore[arg-type]
    assert [str(path) for path in found] == [
        "/usr/lib/libc.so.6",
        "/usr/lib/python3.11/__pycache__/a.cpython-311.pyc",
        "/usr/lib/python3.11/a.py",
    ]


class FakeEngine:
    """A docker with some images, and a registry that may answer."""

    def __init__(self, *images: str, registry: bool = False):
        self._images = set(images)
        self._registry = registry

    def run(self, *arguments: str | Path, **_: float) -> str:
        match arguments:
            case ("images", "--quiet", str(reference)):
                return "abc\n" if reference in self._images else ""
            case ("image", "inspect", *_):
                return "sha256:abc\n"
            case ("manifest", "inspect", _) if self._registry:
                return "{}"
            case ("pull", "--quiet", str(reference)) if self._registry:
                self._images.add(reference)
                return ""
        raise CommandError([str(word) for word in arguments], "no", "no such host")


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, FakeEngine], str]:
    monkeypatch.setattr(choice, "ensure_node_image", lambda version, *_: recipe.reference_of(version))
    monkeypatch.setattr(choice, "ensure_kind", lambda _: Path("/kind"))
    monkeypatch.setattr(choice, "_taken_out_of", lambda *_: (Path("/kubectl"), "1.37.2"))

    def run(option: str, engine: FakeEngine) -> str:
        return choice.choose_node_image("1.37.2", option, engine, lambda _: None).reference  # type: ignore[arg-type]

    return run


def test_stock_image_is_used_where_a_registry_answers(choose: Callable[[str, FakeEngine], str]) -> None:
    assert choose("auto", FakeEngine(registry=True)) == "kindest/node:v1.37.2"
    assert choose("auto", FakeEngine("kindest/node:v1.37.2")) == "kindest/node:v1.37.2"


def test_image_is_built_where_none_does(choose: Callable[[str, FakeEngine], str]) -> None:
    assert choose("auto", FakeEngine()) == recipe.reference_of("1.37.2")


def test_registry_is_not_asked_when_an_image_was_built(choose: Callable[[str, FakeEngine], str]) -> None:
    built = recipe.reference_of("1.37.2")
    assert choose("auto", FakeEngine(built, registry=True)) == built


def test_building_can_be_demanded(choose: Callable[[str, FakeEngine], str]) -> None:
    assert choose("build", FakeEngine(registry=True)) == recipe.reference_of("1.37.2")


def test_named_image_is_pulled_or_refused(choose: Callable[[str, FakeEngine], str]) -> None:
    assert choose("example.com/node:1", FakeEngine(registry=True)) == "example.com/node:1"
    with pytest.raises(ClusterError, match=r"example\.com/node:1") as caught:
        choose("example.com/node:1", FakeEngine())
    assert "no such host" in caught.value.problem


@pytest.mark.parametrize("version", ["1.37", "v1.37.2", "latest"])
def test_no_version_is_refused_with_examples(version: str) -> None:
    with pytest.raises(ClusterError) as caught:
        choice.choose_node_image(version, "auto", FakeEngine(), print)  # type: ignore[arg-type]
    assert "1.37.2" in caught.value.remedy


def test_failure_of_one_lane_ends_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shop = workshop.Workshop(lambda _: None, steps=1)

    def fail() -> Path:
        raise ClusterError("no network", "get one")

    monkeypatch.setattr(shop, "root", fail)
    monkeypatch.setattr(shop, "go", lambda _: shop.commands.run(["sleep", "600"], limit=600))
    with pytest.raises(ClusterError, match="no network"):
        recipe._make_parts("1.37.2", shop)


def test_missing_go_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError) as caught:
        recipe.ensure_kind(print)
    assert "Install Go" in caught.value.remedy
    assert "--dra-node-image REF" in caught.value.remedy


def test_missing_right_to_build_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match="Only root"):
        workshop.Workshop(lambda _: None, steps=1).root()


def test_failed_step_names_log_end_and_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shop = workshop.Workshop(lambda _: None, steps=1)
    with pytest.raises(ClusterError) as caught, shop.step("building x", tmp_path / "x.log"):
        shop.commands.run(["sh", "-c", "echo dial tcp: no such host; exit 1"], limit=10)
    assert "dial tcp: no such host" in caught.value.problem
    assert str(tmp_path / "x.log") in caught.value.problem
    assert "Run again to go on where it stopped" in caught.value.remedy
