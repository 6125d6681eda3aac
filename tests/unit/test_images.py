"""Images: their names in a mirror registry, in all objects that a run makes, and the list of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drivers.images import containers, images_of, mirror, mirrored
from drivers.install import Instance, render
from drivers.loading import known_drivers, load
from fixtures import images
from fixtures.cluster.images import needed
from fixtures.cluster.node_image.versions import BUSYBOX_IMAGE

MIRROR = "registry.example.com:5000/mirror"
Object = dict[str, Any]


@pytest.mark.parametrize(
    ("image", "path"),
    [
        ("busybox", "library/busybox"),
        ("busybox:1.37", "library/busybox:1.37"),
        ("kindest/node:v1.37.2", "kindest/node:v1.37.2"),
        ("docker.io/library/busybox:1", "library/busybox:1"),
        ("registry.k8s.io/dra/driver:v1@sha256:12", "dra/driver:v1@sha256:12"),
        ("localhost/dra-conformance/python:1", "dra-conformance/python:1"),
        ("host:5000/a/b", "a/b"),
    ],
)
def test_a_prefix_takes_the_place_of_the_registry(image: str, path: str) -> None:
    assert mirrored(image, MIRROR) == f"{MIRROR}/{path}"
    assert mirrored(image, "") == image


def test_all_containers_of_pods_and_of_templates_are_found() -> None:
    pod = {"initContainers": [{"image": "a"}], "containers": [{"image": "b"}, {"image": "c"}]}
    template = {"template": {"spec": {"containers": [{"image": "e"}]}}}
    objects: list[Object] = [
        {"kind": "Pod", "spec": pod},
        {"kind": "DaemonSet", "spec": {"template": {"spec": {"containers": [{"image": "d"}]}}}},
        {"kind": "CronJob", "spec": {"jobTemplate": {"spec": template}}},
        {"kind": "DeviceClass", "spec": {"selectors": []}},
        {"kind": "ConfigMap", "data": {"image": "f"}},
        {"kind": "X", "spec": {"template": {"metadata": {}}}},
    ]
    assert images_of(objects) == {"a", "b", "c", "d", "e"}
    mirror(objects, "r")
    assert [container["image"] for container in containers(objects)] == [f"r/library/{name}" for name in "abcde"]


@pytest.mark.parametrize("driver", known_drivers())
def test_a_driver_is_installed_from_the_mirror_and_its_images_are_listed(driver: str) -> None:
    manifest = load(driver)
    installed = render(Instance(manifest, "1", "run", "1", {}, registry=MIRROR))
    assert images_of(installed)
    assert images_of(installed) <= {mirrored(image, MIRROR) for image in needed(manifest)}


def test_the_list_has_each_image_with_the_name_that_a_run_uses(capsys: pytest.CaptureFixture[str]) -> None:
    assert images.main([f"--dra-image-registry={MIRROR}/"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [BUSYBOX_IMAGE, f"{MIRROR}/dra-conformance/busybox:1"] in [row[:2] for row in rows]
    assert len({row[1] for row in rows}) == len(rows), "no two images have one name"


def test_archives_are_written_under_the_mirrored_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def archives(_say: object, directory: Path, name: Any) -> list[Path]:
        assert directory.is_dir()
        return [directory / name("localhost/a/b:1").replace("/", "_")]

    monkeypatch.setattr(images, "workload_archives", archives)
    assert images.main(["--dra-image-registry=reg.io", f"--save={tmp_path / 'new'}"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/new/reg.io_a_b:1\n"


@pytest.mark.parametrize("words", [["--dra-image-registry=https://x"], ["--dra-driver=nosuch"]])
def test_wrong_words_are_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert images.main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1
