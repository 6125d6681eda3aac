"""Each package renders, in both versions, to objects that fit what its manifest says of them."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from drivers.fake.settings import Settings
from drivers.install import Instance, render
from drivers.loading import load
from tests.shapes.layout import SHAPES

Object = dict[str, Any]
PROBES = {"startupProbe", "livenessProbe", "readinessProbe"}
pytestmark = pytest.mark.usefixtures("tools")


def installed(manifest: Path, version: str = "1.0.0") -> tuple[Instance, dict[tuple[str, str], Object]]:
    instance = Instance(load(str(manifest)), id="1a2b3c", run="run-1", version=version, node_selector={})
    return instance, {(item["kind"], item["metadata"]["name"]): item for item in render(instance)}


def containers(instance: Instance, objects: dict[tuple[str, str], Object]) -> list[Object]:
    (name,) = instance.daemon_sets
    there: list[Object] = objects["DaemonSet", name]["spec"]["template"]["spec"]["containers"]
    return there


def settings(container: Object) -> Settings:
    """What the fake driver makes of the environment of its container."""
    env = {variable["name"]: variable.get("value", "from-a-field") for variable in container["env"]}
    return Settings.from_env(env)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_manifest_names_is_there(shape: str, manifests: dict[str, Path]) -> None:
    instance, objects = installed(manifests[shape])
    assert ("ServiceAccount", instance.service_account) in objects
    assert ("DeviceClass", instance.device_class) in objects
    assert all(("Deployment", name) in objects for name in instance.manifest.workload.deployments)
    namespaces = {item["metadata"].get("namespace", instance.home) for item in objects.values()}
    assert namespaces == {instance.home}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_container_serves_the_driver_that_the_manifest_says(shape: str, manifests: dict[str, Path]) -> None:
    for version in ("1.0.0", "2.0.0"):
        instance, objects = installed(manifests[shape], version)
        told = {container["name"]: settings(container) for container in containers(instance, objects)}
        assert {name: found.driver_name for name, found in told.items()} == instance.drivers
        assert {found.version for found in told.values()} == {version}
        ports = [port for found in told.values() for port in (found.health_port, found.admin_port) if port >= 0]
        assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_code_is_in_the_package(shape: str, manifests: dict[str, Path]) -> None:
    instance, objects = installed(manifests[shape])
    (name,) = instance.daemon_sets
    volumes = objects["DaemonSet", name]["spec"]["template"]["spec"]["volumes"]
    (code,) = [volume["configMap"]["name"] for volume in volumes if "configMap" in volume]
    archive = base64.b64decode(objects["ConfigMap", code]["binaryData"]["code.zip"])
    assert "drivers/fake/__main__.py" in zipfile.ZipFile(io.BytesIO(archive)).namelist()


def test_the_shapes_differ_in_what_they_are_there_for(manifests: dict[str, Path]) -> None:
    made = {shape: installed(manifests[shape]) for shape in SHAPES}
    specs = {shape: objects["DaemonSet", one.daemon_sets[0]]["spec"] for shape, (one, objects) in made.items()}
    pods = {shape: spec["template"]["spec"] for shape, spec in specs.items()}
    told = {shape: settings(containers(*made[shape])[0]) for shape in SHAPES}
    assert [shape for shape in SHAPES if told[shape].seamless] == ["surge"]
    assert specs["surge"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert specs["two-drivers"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == "100%"
    assert not PROBES & pods["no-probe"]["containers"][0].keys()
    assert "updateStrategy" not in specs["no-probe"]
    assert [shape for shape in SHAPES if pods[shape].get("hostNetwork")] == ["host-port"]
    assert told["single"].devices == 1
    assert told["whole-node"].all_devices
    assert [shape for shape in SHAPES if told[shape].shown_by_node] == ["whole-node"]
    assert all(spec["allowMultipleAllocations"] for spec in told["capacity"].device_specs)
    assert told["partitions"].shared_counters
    assert any(spec.get("taints") for spec in told["partitions"].device_specs)
    assert "uplink" in json.dumps(made["no-class"][1]["DeviceClass", "nic.shape.example"])
