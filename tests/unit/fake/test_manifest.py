from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, StrictUndefined

import drivers.fake
from drivers.fake.settings import Settings

TEMPLATE = Path(drivers.fake.__file__).parent / "manifests" / "driver.yaml.j2"


def _rendered(**changes: Any) -> dict[str, dict[str, Any]]:
    """The objects by kind; the DaemonSet for nodes with an old kubelet is `old`."""
    variables = {
        "name": "d.fake.dra",
        "namespace": "dra-1",
        "prefix": "driver-1",
        "run": "r1",
        "image": "python:1",
        "version": "1.0.0",
        "seamless": True,
        "faults": ["keeps-cdi", "no-metrics"],
        "devices": 3,
        "node_selector": {"role": "worker"},
        **changes,
    }
    text = Environment(undefined=StrictUndefined, autoescape=True).from_string(TEMPLATE.read_text()).render(variables)
    objects = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(text)}
    old = objects.pop(("DaemonSet", f"{variables['prefix']}-old-kubelets"))
    return {**{kind: item for (kind, _), item in objects.items()}, "old": old}


def test_every_object_carries_the_run_and_the_prefix() -> None:
    objects = _rendered()
    assert all(item["metadata"]["labels"]["dra-conformance/run"] == "r1" for item in objects.values())
    names = {kind: item["metadata"]["name"] for kind, item in objects.items()}
    assert names.pop("DeviceClass") == "d.fake.dra"
    assert all(name.startswith("driver-1") for name in names.values())


@pytest.mark.parametrize(("seamless", "surge", "unavailable"), [(True, 1, 0), (False, 0, 1)])
def test_only_a_seamless_driver_overlaps(seamless: bool, surge: int, unavailable: int) -> None:
    objects = _rendered(seamless=seamless)
    strategy = objects["DaemonSet"]["spec"]["updateStrategy"]
    assert strategy["rollingUpdate"] == {"maxSurge": surge, "maxUnavailable": unavailable}
    assert objects["old"]["spec"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_the_environment_is_what_the_driver_reads() -> None:
    spec = _rendered()["DaemonSet"]["spec"]["template"]["spec"]
    env = {item["name"]: item.get("value", "downward") for item in spec["containers"][0]["env"]}
    settings = Settings.from_env(env)
    assert settings.faults == ("keeps-cdi", "no-metrics")
    assert (settings.devices, settings.version, settings.seamless) == (3, "1.0.0", True)
    assert settings.labels == {"dra-conformance/run": "r1"}
    paths = {volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
    assert paths == {str(settings.data_dir), str(settings.registry_dir), str(settings.cdi_dir)}
    ports = {port["name"]: port["containerPort"] for port in spec["containers"][0]["ports"]}
    assert ports == {"health": settings.health_port, "admin": settings.admin_port}
    assert spec["containers"][0]["livenessProbe"]["grpc"] == {"port": settings.health_port}
    assert spec["nodeSelector"] == {"role": "worker"}
