"""A driver whose package does not render, or lacks what its manifest names, is refused with what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.install import RUN_LABEL, Instance, render
from drivers.loading import known_drivers, load
from drivers.manifest import DriverManifest
from drivers.packages import PackageError
from drivers.rehearsal import rehearse

MANIFEST = """\
apiVersion: dra.conformance/v1alpha1
kind: DriverUnderTest
name: gpu.example.com
implementation: {organization: Example, project: gpu, version: v1.2.0, url: https://example.com}
install: {kind: helm, chart: example-driver, release: gpu}
workload:
  namespace: gpu-driver
  daemonSets: [gpu-plugin]
  deployments: [gpu-webhook]
  serviceAccount: gpu-account
  containers: {plugin: gpu.example.com}
claim: {deviceClassName: elsewhere}
proof: {env: GPU_.*, value: "{device}"}
upgrade: {version: v1.3.0, set: {image.tag: v1.3.0}}
"""


def manifest(chart: Path, was: str = "", becomes: str = "") -> DriverManifest:
    assert was in MANIFEST
    file = chart.parent / "driver.yaml"
    file.write_text(MANIFEST.replace(was, becomes))
    return load(str(file))


@pytest.mark.parametrize("name", known_drivers())
def test_a_driver_of_the_catalog_has_all_that_its_manifest_names(name: str) -> None:
    rehearse(load(name))


def test_a_chart_may_lack_the_device_class(chart: Path) -> None:
    rehearse(manifest(chart), "1.37.2")


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ("[gpu-plugin]", "[plugin]", "`workload.daemonSets`: no DaemonSet is called 'plugin'; there are: gpu-plugin"),
        ("[gpu-webhook]", "[hook]", "`workload.deployments`: no Deployment is called 'hook'; there are: gpu-webhook"),
        ("gpu-account", "gpu", "`workload.serviceAccount`: no ServiceAccount is called 'gpu'; there are: gpu-account"),
        (
            "{plugin:",
            "{driver:",
            "`workload.containers`: no container of the DaemonSets is called 'driver'; there are: pl",
        ),
        ("release: gpu", "release: gpu, set: {broken: x}", "example-driver --namespace gpu-driver"),
        ("release: gpu", "release: gpu, set: {broken: x}", "--set broken=x: Error: at <.Values.broken>: wrong type"),
        ("{image.tag:", "{broken:", "--set broken=v1.3.0: Error: at <.Values.broken>: wrong type"),
    ],
)
def test_what_is_wrong_is_told_with_what_there_is(chart: Path, was: str, becomes: str, says: str) -> None:
    with pytest.raises(PackageError) as caught:
        rehearse(manifest(chart, was, becomes))
    assert says in str(caught.value)


@pytest.mark.parametrize("rendered", ["- a\n- b\n", "just words\n", "kind: X\n", "metadata: {name: x}\n"])
def test_what_is_no_object_is_told(chart: Path, rendered: str) -> None:
    (chart / "rendered.yaml").write_text(rendered)
    with pytest.raises(PackageError, match="no object with a kind and a name"):
        rehearse(manifest(chart))


def test_a_template_that_names_an_unknown_variable_is_told_with_its_file(chart: Path) -> None:
    (chart.parent / "class.j2").write_text("kind: {{ nosuch }}")
    with pytest.raises(PackageError, match=r"class\.j2\): 'nosuch' is undefined"):
        rehearse(manifest(chart, "release: gpu", "release: gpu, files: [class.j2]"))


def test_a_preinstalled_driver_is_not_rendered(chart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    there = manifest(chart, "{kind: helm, chart: example-driver, release: gpu}", "{kind: helm, chart: example-driver}")
    with pytest.raises(PackageError, match=r"there is no helm on PATH; install it, or have Go build it"):
        rehearse(there)
    rehearse(there.model_copy(update={"install": there.install.model_copy(update={"kind": "preinstalled"})}))


def test_an_object_whose_labels_are_null_gets_the_label_of_the_run(chart: Path) -> None:
    objects = render(Instance(manifest(chart), id="1", run="run-1", version="v1.2.0", node_selector={}))
    assert [item["metadata"]["labels"] for item in objects] == [{RUN_LABEL: "run-1"}] * 4
