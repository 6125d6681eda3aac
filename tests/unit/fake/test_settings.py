from __future__ import annotations

import pytest

from drivers.fake.settings import Settings, SettingsError

MINIMUM = {"DRIVER_NAME": "d.fake.dra", "NODE_NAME": "node-1", "POD_UID": "uid"}


def test_defaults_are_those_of_a_real_node() -> None:
    settings = Settings.from_env(MINIMUM)
    assert str(settings.data_dir) == "/var/lib/kubelet/plugins/d.fake.dra"
    assert str(settings.registry_dir) == "/var/lib/kubelet/plugins_registry"
    assert (settings.seamless, settings.devices, settings.faults, settings.state_format) == (True, 4, (), 1)


def test_lists_and_labels_are_comma_separated() -> None:
    settings = Settings.from_env({**MINIMUM, "FAULTS": "keeps-cdi, no-metrics", "LABELS": "a/b=c,d=e"})
    assert settings.faults == ("keeps-cdi", "no-metrics")
    assert settings.labels == {"a/b": "c", "d": "e"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"DRIVER_NAME": ""}, "DRIVER_NAME is not set"),
        ({"DRIVER_NAME": "Upper_case"}, "DNS subdomain"),
        ({"DRIVER_NAME": "a" * 64}, "63"),
        ({"NODE_NAME": ""}, "NODE_NAME is not set"),
        ({"POD_UID": ""}, "POD_UID is not set"),
        ({"SEAMLESS": "maybe"}, "SEAMLESS='maybe'"),
        ({"DEVICES": "-1"}, "DEVICES='-1'"),
        ({"HEALTH_PORT": "-2"}, "HEALTH_PORT='-2'"),
        ({"ADMIN_PORT": "-1"}, "ADMIN_PORT='-1'"),
        ({"SERVICES": "v2.DRAPlugin"}, "v2.DRAPlugin"),
        ({"SERVICES": "v1.DRAResourceHealth"}, "no DRAPlugin"),
        ({"DRIVER_VERSION": "latest"}, "DRIVER_VERSION='latest'"),
        ({"LABELS": "nothing"}, "'nothing'"),
        ({"DEVICE_SPECS": "[1, 2"}, "DEVICE_SPECS='\\[1, 2'"),
        ({"DEVICE_SPECS": '[{"capacity": {}}]'}, "objects that have a name"),
        ({"DEVICE_SPECS": '[{"name": "a"}, {"name": "a"}]'}, "DEVICE_SPECS has a name twice: a, a"),
        ({"SHARED_COUNTERS": "1"}, "SHARED_COUNTERS='1'"),
        ({"ALL_DEVICES": "1"}, "ALL_DEVICES='1'"),
        ({"SHOWN_BY": "magic"}, "SHOWN_BY='magic' must be one of variable, node"),
    ],
)
def test_a_wrong_variable_is_named(change: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        Settings.from_env({**MINIMUM, **change})


def test_devices_that_are_described_are_counted() -> None:
    described = {"DEVICE_SPECS": '[{"name": "gpu"}, {"name": "part"}]'}
    assert Settings.from_env({**MINIMUM, **described}).devices == 2
    assert Settings.from_env({**MINIMUM, **described, "DEVICES": "5"}).devices == 5
    assert Settings.from_env({**MINIMUM, "DEVICE_SPECS": ""}).devices == 4


def test_without_overlap_no_pod_uid_is_needed() -> None:
    assert Settings.from_env({**MINIMUM, "POD_UID": "", "SEAMLESS": "false"}).pod_uid == ""


def test_the_health_service_can_be_off() -> None:
    assert Settings.from_env({**MINIMUM, "HEALTH_PORT": "-1"}).health_port == -1
