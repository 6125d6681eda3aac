"""The fake driver as a service of a node."""

from __future__ import annotations

import shlex
from pathlib import Path, PurePosixPath

import pytest

from drivers.fake.settings import Settings
from drivers.install import Instance
from drivers.loading import load
from drivers.service import Access, objects, render_unit, without_supervision

ACCESS = Access("https://control-plane:6443", "certificate", "secret")
INSTANCE = Instance(
    load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={}, faults=("keeps-cdi", "no-owner")
)


def unit(text: bytes) -> dict[str, list[str]]:
    """The settings of a unit's section Service."""
    found: dict[str, list[str]] = {}
    for line in text.decode().partition("[Service]\n")[2].partition("\n[")[0].splitlines():
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_tells_the_driver_all_that_it_needs() -> None:
    service = render_unit(INSTANCE, "worker", ACCESS)
    files = {file.path: file for file in service.files}
    text = files[PurePosixPath("/etc/systemd/system/driver-1a2b3c.service")].content
    env = dict(pair.split("=", 1) for line in unit(text)["Environment"] for pair in shlex.split(line))
    settings = Settings.from_env(env)
    assert (settings.driver_name, settings.node_name) == (INSTANCE.name, "worker")
    assert (settings.devices, settings.version, settings.seamless) == (8, "1.0.0", False)
    assert settings.faults == ("keeps-cdi", "no-owner")
    assert settings.labels == {"dra-conformance/run": "run-1"}
    assert settings.kubelet_root == Path("/var/lib/kubelet")
    assert env["API_SERVER"] == ACCESS.server
    assert files[PurePosixPath(env["CA_FILE"])].content == b"certificate"
    token = files[PurePosixPath(env["TOKEN_FILE"])]
    assert (token.content, token.mode) == (b"secret", 0o600)
    assert files[PurePosixPath(env["PYTHONPATH"].split(":")[0])].content.startswith(b"PK")
    assert sum(path.is_relative_to(service.directory) for path in files) == len(files) - 1


def test_an_unsupervised_unit_is_the_same_without_watchdog_and_restart() -> None:
    supervised, alone = (
        unit(render_unit(INSTANCE, "worker", ACCESS, overlay).files[-1].content)
        for overlay in (None, without_supervision)
    )
    assert supervised.keys() - alone.keys() == {"WatchdogSec", "Restart", "RestartSec"}
    assert alone.items() <= supervised.items()


def test_a_service_needs_no_pods() -> None:
    kinds = [item["kind"] for item in objects(INSTANCE)]
    assert {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "DeviceClass"} <= set(kinds)
    assert not {"DaemonSet", "ConfigMap"} & set(kinds)


def test_a_driver_without_code_is_refused() -> None:
    manifest = INSTANCE.manifest
    bare = manifest.model_copy(update={"install": manifest.install.model_copy(update={"code": None})})
    with pytest.raises(ValueError, match="fake driver has no code"):
        render_unit(Instance(bare, id="1", run="r", version="1", node_selector={}), "worker", ACCESS)
