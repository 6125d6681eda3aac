"""What a manifest becomes in a cluster: objects that are valid, labelled, and another installation's never."""

from __future__ import annotations

import base64
import io
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from drivers.install import RUN_LABEL, Instance, archive, render
from drivers.loading import CATALOG, known_drivers, load
from fixtures.kube.kinds import KINDS

LONGEST_NAME = 27


def instance(driver: str = "fake", id: str = "1a2b3c", **changes: Any) -> Instance:  # noqa: A002
    made = Instance(load(driver), id=id, run="run-1", version="1.0.0", node_selector={"devices": "true"})
    return replace(made, **changes)


def of_new_kubelets(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return next(item for item in objects if item["kind"] == "DaemonSet")


def _affinity(daemon_set: dict[str, Any]) -> dict[str, Any]:
    required = daemon_set["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    terms = required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    expression: dict[str, Any] = terms[0]["matchExpressions"][0]
    assert expression["key"] == "dra-conformance/seamless"
    assert expression["values"] == ["false"]
    return expression


def the(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found = [item for item in objects if item["kind"] == kind]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}"
    return found[0]


def identity(item: dict[str, Any]) -> tuple[str, str | None, str]:
    return item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]


@pytest.mark.parametrize("driver", known_drivers())
def test_every_object_is_of_a_known_kind_and_carries_the_label_of_the_run(driver: str) -> None:
    for item in render(instance(driver)):
        path, _, namespaced = KINDS[item["kind"]]
        assert path in (f"api/{item['apiVersion']}", f"apis/{item['apiVersion']}")
        assert ("namespace" in item["metadata"]) == namespaced
        assert item["metadata"]["labels"][RUN_LABEL] == "run-1"


@pytest.mark.parametrize("driver", known_drivers())
def test_two_installations_share_no_object_no_socket_and_no_class(driver: str) -> None:
    first, second = instance(driver, "1a2b3c"), instance(driver, "4d5e6f")
    ours, theirs = ({identity(item) for item in render(one)} for one in (first, second))
    assert not ours & theirs
    assert len(ours) == len(render(first))
    assert "1a2b3c" not in str(render(second))
    assert first.name != second.name
    assert first.device_class != second.device_class


@pytest.mark.parametrize("driver", known_drivers())
def test_the_objects_are_where_the_instance_says(driver: str) -> None:
    one = instance(driver)
    objects = render(one)
    daemon_sets = [item for item in objects if item["kind"] == "DaemonSet"]
    assert [identity(item) for item in daemon_sets] == [("DaemonSet", one.namespace, name) for name in one.daemon_sets]
    assert identity(the(objects, "ServiceAccount")) == ("ServiceAccount", one.namespace, one.service_account)
    assert the(objects, "DeviceClass")["metadata"]["name"] == one.device_class
    for item in daemon_sets:
        spec = item["spec"]["template"]["spec"]
        assert [c["name"] for c in spec["containers"]] == [one.container]
        assert spec["nodeSelector"] == {"devices": "true"}
        assert spec["serviceAccountName"] == one.service_account
        template, selector = item["spec"]["template"]["metadata"]["labels"], item["spec"]["selector"]
        assert selector["matchLabels"].items() <= template.items()


@pytest.mark.parametrize("driver", known_drivers())
def test_a_driver_name_is_short_enough_for_the_paths_of_its_sockets(driver: str) -> None:
    assert len(instance(driver).name) <= LONGEST_NAME


def test_the_fake_driver_is_told_all_that_the_instance_has() -> None:
    one = instance(faults=("keeps-cdi", "empty-cdi"), version="2.0.0", image="some/image:1")
    container = of_new_kubelets(render(one))["spec"]["template"]["spec"]["containers"][0]
    told = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert container["image"] == "some/image:1"
    assert told["DRIVER_NAME"] == "d-1a2b3c.fake.dra"
    assert told["DRIVER_VERSION"] == "2.0.0"
    assert told["FAULTS"] == "keeps-cdi,empty-cdi"
    assert told["DEVICES"] == "8"
    assert told["SEAMLESS"] == "true"


@pytest.mark.parametrize(("seamless", "surge", "unavailable"), [(True, 1, 0), (False, 0, 1)])
def test_the_fake_driver_overlaps_only_where_it_is_seamless(seamless: bool, surge: int, unavailable: int) -> None:
    new, old = (i for i in render(instance(seamless=seamless)) if i["kind"] == "DaemonSet")
    assert new["spec"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": surge, "maxUnavailable": unavailable}
    assert old["spec"]["updateStrategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    operators = [_affinity(item)["operator"] for item in (new, old)]
    assert operators == ["NotIn", "In"]


def test_an_upgrade_changes_the_version_and_nothing_else() -> None:
    old, new = render(instance()), render(instance().upgraded())
    assert str(old).replace("'1.0.0'", "'2.0.0'") == str(new)
    assert old != new


def test_without_another_version_an_upgrade_is_the_same_again() -> None:
    stranger = instance("kubernetes-pydra")
    assert stranger.upgraded() == stranger


def test_an_overlay_is_applied_before_the_label_of_the_run() -> None:
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}}
    objects = render(instance(), lambda objects: [*objects[1:], extra])
    assert objects[-1]["metadata"] == {"name": "extra", "labels": {RUN_LABEL: "run-1"}}
    assert len(objects) == len(render(instance()))


def test_a_template_with_an_unknown_variable_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "t.j2"
    file.write_text("kind: {{ nosuch }}")
    manifest = load("fake")
    broken = manifest.model_copy(update={"install": manifest.install.model_copy(update={"files": (file,)})})
    with pytest.raises(UndefinedError):
        render(instance(manifest=broken))


@pytest.mark.parametrize("driver", known_drivers())
def test_the_code_fits_into_a_config_map_and_comes_first(driver: str) -> None:
    first = render(instance(driver))[0]
    assert first["kind"] == "ConfigMap"
    assert len(str(first)) < 1 << 20
    zipfile.ZipFile(io.BytesIO(base64.b64decode(first["binaryData"]["code.zip"]))).testzip()


def test_equal_sources_give_equal_archives(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text("answer = 42\n")
    first = archive(source)
    os.utime(source, (1, 1))
    assert archive(source) == first
    source.write_text("answer = 43\n")
    assert archive(source) != first


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        (CATALOG.parent / "fake", "import drivers.fake.driver, drivers.fake.meddlers; print(drivers.fake.__file__)"),
        (CATALOG / "pydra_server.py", "import importlib.util as u; print(u.find_spec('pydra_server').origin)"),
    ],
    ids=["package", "module"],
)
def test_python_imports_an_archive_without_its_sources(source: Path, statement: str, tmp_path: Path) -> None:
    target = tmp_path / "code.zip"
    target.write_bytes(archive(source))
    environment = {**os.environ, "PYTHONPATH": str(target)}
    command = [sys.executable, "-P", "-c", statement]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{target}/")


def test_the_package_of_a_fixed_name_is_the_same_for_every_check() -> None:
    fake = load("fake")
    workload = fake.workload.model_copy(update={"namespace": "gpu"})
    fixed = fake.model_copy(update={"name": "gpu.example.com", "workload": workload})
    first, second = instance(manifest=fixed), instance(id="4d5e6f", manifest=fixed)
    assert first.namespace != second.namespace, "the checks' own"
    assert render(first) == render(second)
    assert {item["metadata"].get("namespace", "gpu") for item in render(first)} == {"gpu"}
    assert the(render(first), "ConfigMap")["metadata"]["name"] == "driver-code"
