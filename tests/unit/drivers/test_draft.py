"""A first manifest, from a chart or a cluster, loads if the essentials were found, and asks for the rest."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from drivers.loading import ManifestError, load
from drivers.manifest import DriverManifest, from_cluster
from drivers.manifest.__main__ import main
from drivers.manifest.draft import NothingFound
from drivers.rehearsal import rehearse

Object = dict[str, Any]


@pytest.fixture
def draft(chart: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What is written for the chart; what is said meanwhile comes after it."""

    def write(*words: str) -> str:
        file = chart.parent / "driver.yaml"
        file.unlink(missing_ok=True)
        assert main([f"--from-chart={chart}", f"--output={file}", *words]) == 0
        return file.read_text() + capsys.readouterr().err

    return write


def loaded(chart: Path) -> DriverManifest:
    return load(str(chart.parent / "driver.yaml"))


def changed(chart: Path, *changes: tuple[str, str]) -> None:
    file = chart / "rendered.yaml"
    text = file.read_text()
    for was, becomes in changes:
        assert was in text
        text = text.replace(was, becomes)
    file.write_text(text)


def test_the_draft_of_a_chart_loads_and_names_what_is_rendered(chart: Path, draft: Callable[..., str]) -> None:
    said = draft()
    manifest = loaded(chart)
    rehearse(manifest)
    workload = manifest.workload
    assert (manifest.name, manifest.claim.device_class_name) == ("gpu.example.com", "gpu.example.com")
    assert manifest.implementation.model_dump(exclude={"contact"}) == {
        "organization": "example-org",
        "project": "example-driver",
        "version": "v1.2.0",
        "url": "https://github.com/example-org/example-driver",
    }
    assert (manifest.install.kind, manifest.install.chart) == ("helm", str(chart))
    assert workload.daemon_sets == ("example-driver-plugin",)
    assert workload.deployments == ("example-driver-webhook",)
    assert (workload.namespace, workload.service_account) == ("example-driver", "example-driver-account")
    assert workload.containers == {"plugin": "gpu.example.com"}
    assert manifest.node_selector == {"example.com/gpu": "true"}
    assert manifest.tolerations == ({"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)
    assert manifest.supports("rolling-update") == "supported"
    assert manifest.metrics is not None
    assert manifest.metrics.port == 8080
    assert "chart: example-driver\n" in said, "relative to the manifest"
    assert "r.example.com/plugin:v1.2.0, r.example.com/webhook:v1.2.0" in said.replace("\n#  ", "")
    assert f"then: pytest suites --dra-driver {chart.parent}/driver.yaml --dra-plan" in said


def test_whether_a_value_sets_the_name_is_tried(chart: Path, draft: Callable[..., str]) -> None:
    assert "# The chart's value driverName sets it." in draft()
    assert "it is fixed, and checks take turns" in draft("--set=driverName=other.example.com")
    assert loaded(chart).name == "other.example.com"
    (chart / "values.yaml").write_text("other: {driver-name: x}\n")
    assert "it is fixed, and checks take turns" in draft()


def test_values_and_settings_are_kept(chart: Path, draft: Callable[..., str]) -> None:
    file = chart.parent / "more.yaml"
    file.write_text("{}")
    assert "values: [more.yaml]\n" in draft(f"--values={file}", "--set=image.tag=v2", "--set=list={a,b}")
    install = loaded(chart).install
    assert install.values == (file,)
    assert {key: str(value).format() for key, value in install.set.items()} == {"image.tag": "v2", "list": "{a,b}"}


@pytest.mark.parametrize(
    ("was", "becomes", "seen"),
    [
        (
            "env: [{name: DRIVER_NAME, value: gpu.example.com}]",
            "args: [--driver-name=gpu.example.com]",
            "the arguments of",
        ),
        ("env: [{name: DRIVER_NAME, value: gpu.example.com}]", "args: [--v=2]", "DeviceClass gpu.example.com"),
        (
            "env: [{name: DRIVER_NAME, value: gpu.example.com}]\n",
            "args: ['--driver-name=$(NAME)']\n",
            "DeviceClass gpu.example.com",
        ),
        (
            "DRIVER_NAME, value: gpu.example.com}]",
            "X, value: y}]",
            "the directory that container plugin mounts",
        ),
    ],
)
def test_a_name_is_seen_in_many_places(
    chart: Path, draft: Callable[..., str], was: str, becomes: str, seen: str
) -> None:
    changed(chart, (was, becomes))
    if "directory" in seen:
        changed(chart, ("path: /var/lib/kubelet/plugins", "path: /var/lib/kubelet/plugins/gpu.example.com"))
    assert f"# Seen in {seen}" in draft()
    assert loaded(chart).name == "gpu.example.com"


def test_each_container_of_several_gets_the_driver_that_is_called_like_it(
    chart: Path, draft: Callable[..., str]
) -> None:
    text = (chart / "rendered.yaml").read_text()
    head, _, plugin = text.partition("        - name: plugin\n")
    body, _, volumes = plugin.partition("      volumes:")
    body = body.replace("env: [{name: DRIVER_NAME, value: gpu.example.com}]", "args: []")
    both = "".join(f"        - name: {name}\n{body}" for name in ("compute-domains", "gpus"))
    other = "{cel: {expression: device.driver == 'compute-domain.example.com'}}]"
    head = head.replace('"gpu.example.com"}}]', f'"gpu.example.com"}}}}, {other}')
    (chart / "rendered.yaml").write_text(f"{head}{both}      volumes:{volumes}")
    assert "# ? Does each container serve that driver?" in draft()
    assert loaded(chart).workload.containers == {
        "compute-domains": "compute-domain.example.com",
        "gpus": "gpu.example.com",
    }


def test_what_was_not_found_is_asked_and_loading_tells_it(chart: Path, draft: Callable[..., str]) -> None:
    text = (chart / "rendered.yaml").read_text()
    documents = [one for one in text.split("---\n") if "DeviceClass" not in one]
    (chart / "rendered.yaml").write_text(
        "---\n".join(documents).replace("DRIVER_NAME, value: gpu.example.com", "A, value: b")
    )
    (chart / "Chart.yaml").write_text("name: example-driver\nversion: 0.1.0\n")
    said = draft()
    assert "# ? Under which name does the driver publish" in said
    assert "It cannot be used before some are answered:" in said
    with pytest.raises(ManifestError) as caught:
        loaded(chart)
    assert [line.partition(": ")[2] for line in str(caught.value).splitlines()] == [
        "`name`: has no value",
        "`claim.deviceClassName`: has no value",
    ]


def test_without_a_surge_rolling_updates_are_not_supported_and_that_is_asked(
    chart: Path, draft: Callable[..., str]
) -> None:
    changed(chart, ("maxSurge: 1", "maxSurge: 0"), ("/var/lib/kubelet/plugins}}", "/data/kubelet/plugins/}}"))
    assert "# ? No maxSurge is declared" in draft()
    assert loaded(chart).supports("rolling-update") == "unsupported"
    assert loaded(chart).kubelet_root == Path("/data/kubelet")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from-chart=nosuch"], "there is no nosuch\nRemedy: name a chart's directory"),
        (["--from-chart={chart}", "--values=nosuch"], "there is no nosuch"),
        (["--from-chart={chart}", "--set=nosuch"], "--set nosuch: has no value"),
        (["--from-chart={chart}", "--set=broken=x"], "Error: at <.Values.broken>: wrong type"),
        (["--from-chart={chart}", "--output={chart}/Chart.yaml"], "Chart.yaml is there already\nRemedy: name another"),
        (["--from-chart={chart}", "--output={chart}/no/where"], "/no/where: No such file or directory"),
        (["--from-chart=oci://nosuch"], "Error: there is no chart oci://nosuch"),
        (["--from-cluster=x", "--context=nosuch"], "Remedy: `kubectl config get-contexts` lists the contexts"),
    ],
)
def test_what_cannot_be_drafted_is_told_with_a_remedy(
    chart: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(chart / "nosuch"))
    assert main([word.format(chart=chart) for word in words]) == 2
    assert says in capsys.readouterr().err


def test_words_for_another_source_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--schema", "--set=a=b"], ["--schema", "--context=a"], []):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2
    assert "--values and --set are for --from-chart" in capsys.readouterr().err


def test_a_chart_without_a_driver_is_told_with_what_it_has(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(chart, ("path: /var/lib/kubelet/plugins", "path: /data"))
    assert main([f"--from-chart={chart}"]) == 2
    assert "DaemonSets there: example-driver-plugin\nRemedy: " in capsys.readouterr().err


class Cluster:
    """Lists of objects by the ends of their paths."""

    def __init__(self, rendered: Path) -> None:
        objects = [item for item in yaml.safe_load_all(rendered.read_text()) if item["kind"] == "DaemonSet"]
        own = {"kind": "Pod", "metadata": {"ownerReferences": [{"uid": "1"}]}, "spec": {"nodeName": "node-1"}}
        self.lists: dict[str, list[Object]] = {
            "daemonsets": objects,
            "pods": [own],
            "resourceslices": [published("gpu.example.com", "node-1"), published("other.example.com", "node-2")],
            "deviceclasses": [selecting("other", "other.example.com"), selecting("gpus", "gpu.example.com")],
        }
        objects[0]["metadata"]["uid"] = "1"

    def __call__(self, path: str, _kind: str) -> list[Object]:
        assert ("/namespaces/gpu/" in path) == path.endswith(("daemonsets", "pods"))
        return copy.deepcopy(self.lists[path.rpartition("/")[2]])


def published(driver: str, node: str) -> Object:
    device = {
        "name": "gpu-0",
        "attributes": {"model": {"string": "LATEST"}, "index": {"int": 0}},
        "capacity": {"memory": {"value": "80Gi"}},
    }
    devices = [device, {"name": "gpu-1"}]
    spec = {"driver": driver, "nodeName": node, "pool": {"name": node}, "devices": devices}
    return {"kind": "ResourceSlice", "metadata": {"name": f"{node}-{driver}"}, "spec": spec}


def selecting(name: str, driver: str) -> Object:
    cel = {"expression": f"device.driver == '{driver}'"}
    return {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": [{"cel": cel}]}}


@pytest.fixture
def cluster(chart: Path) -> Cluster:
    return Cluster(chart / "rendered.yaml")


def from_there(cluster: Cluster, tmp_path: Path) -> tuple[DriverManifest, str]:
    file = tmp_path / "there.yaml"
    file.write_text(from_cluster.drafted("gpu", cluster))
    return load(str(file)), file.read_text()


@pytest.mark.parametrize("told", [True, False])
def test_the_draft_of_a_cluster_loads_and_names_what_is_there(cluster: Cluster, tmp_path: Path, *, told: bool) -> None:
    if not told:
        del cluster.lists["daemonsets"][0]["spec"]["template"]["spec"]["containers"][0]["env"]
    manifest, text = from_there(cluster, tmp_path)
    assert manifest.preinstalled
    assert (manifest.name, manifest.claim.device_class_name) == ("gpu.example.com", "gpus")
    assert manifest.workload.namespace == "gpu"
    assert manifest.workload.daemon_sets == ("RELEASE-plugin",)
    assert manifest.workload.containers == {"plugin": "gpu.example.com"}
    assert (manifest.implementation.project, manifest.implementation.version) == ("plugin", "v1.2.0")
    assert manifest.devices_per_node == 2
    for line in ("#   index: 0", "#   model: LATEST", "#   capacity memory: 80Gi", "of pool node-1"):
        assert line in text


def test_daemon_sets_that_mount_the_directory_for_something_else_are_left_out(cluster: Cluster, tmp_path: Path) -> None:
    storage = copy.deepcopy(cluster.lists["daemonsets"][0])
    storage["metadata"] = {"name": "csi", "uid": "2"}
    spec = storage["spec"]["template"]["spec"]
    del spec["containers"][0]["env"]
    spec["volumes"][0]["hostPath"]["path"] = "/var/lib/kubelet/plugins/csi.example.com"
    cluster.lists["daemonsets"].insert(0, storage)
    manifest, text = from_there(cluster, tmp_path)
    assert manifest.workload.daemon_sets == ("RELEASE-plugin",)
    assert "csi" not in text


def test_a_daemon_set_that_has_no_pods_tells_nothing_about_rollouts(cluster: Cluster, tmp_path: Path) -> None:
    old = copy.deepcopy(cluster.lists["daemonsets"][0])
    old["metadata"] = {"name": "old", "uid": "2"}
    del old["spec"]["updateStrategy"]
    cluster.lists["daemonsets"].append(old)
    assert from_there(cluster, tmp_path)[0].supports("rolling-update") == "unsupported"
    old["status"] = {"desiredNumberScheduled": 0}
    manifest, _ = from_there(cluster, tmp_path)
    assert manifest.supports("rolling-update") == "supported"
    assert manifest.workload.daemon_sets == ("RELEASE-plugin", "old")


def test_a_driver_without_slices_is_asked_about(cluster: Cluster, tmp_path: Path) -> None:
    cluster.lists["resourceslices"] = []
    manifest, text = from_there(cluster, tmp_path)
    assert manifest.name == "gpu.example.com"
    assert "# ? No ResourceSlice is on the nodes of its pods" in text


def test_a_namespace_without_a_driver_is_told(cluster: Cluster) -> None:
    cluster.lists["daemonsets"] = []
    with pytest.raises(NothingFound, match=r"in the namespace gpu mounts .* DaemonSets there: none at all"):
        from_cluster.drafted("gpu", cluster)
