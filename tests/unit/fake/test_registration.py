from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING

import grpc
import pytest

from drivers.fake.sockets import PATH_MAX

if TYPE_CHECKING:
    from tests.unit.fake.conftest import Node


def test_get_info_says_who_and_where(node: Node) -> None:
    driver = node.start()
    info = driver.get_info()
    assert (info.type, info.name, info.endpoint) == ("DRAPlugin", "d.fake.dra", str(driver.service))
    assert list(info.supported_versions) == [
        "v1.DRAPlugin",
        "v1beta1.DRAPlugin",
        "v1.DRAResourceHealth",
        "v1alpha1.DRAResourceHealth",
    ]


def test_only_advertised_versions_are_served(node: Node) -> None:
    driver = node.start(services=("v1beta1.DRAPlugin",))
    assert list(driver.get_info().supported_versions) == ["v1beta1.DRAPlugin"]
    assert driver.prepare(version="v1beta1.DRAPlugin") == {}
    with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
        driver.prepare()
    with pytest.raises(grpc.RpcError, match="UNIMPLEMENTED"):
        next(driver.watch_health())
    assert driver.health() == "SERVING"


def test_ready_once_the_kubelet_has_registered_it(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.fake.driver.READY_WAIT_SECONDS", 0.2)
    driver = node.start()
    assert driver.http("/ready")[0] == 503
    driver.notify()
    status, body = driver.http("/ready")
    assert status == 200
    assert json.loads(body)["service"] == str(driver.service)


def test_readiness_waits_for_the_registration(node: Node) -> None:
    driver = node.start()
    registering = threading.Timer(0.2, driver.notify)
    registering.start()
    assert driver.http("/ready")[0] == 200
    registering.join()


def test_a_refused_registration_is_no_registration(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.fake.driver.READY_WAIT_SECONDS", 0.2)
    driver = node.start()
    driver.notify()
    with pytest.raises(grpc.RpcError, match="version mismatch"):
        driver.notify(registered=False, error="version mismatch")
    assert driver.http("/ready")[0] == 503


UID = "[0-9a-f-]{36}"


@pytest.mark.parametrize(
    ("length", "service", "registration"),
    [
        (27, rf"dra-{UID}\.sock", rf"d*-{UID}-reg\.sock"),
        (28, rf"dra-{UID}\.sock", r"d*-[\w-]{11}-reg\.sock"),
        (36, rf"dra-{UID}\.sock", r"d*-[\w-]{11}-reg\.sock"),
        (37, r"dra-[\w-]{11}\.sock", r"d*-[\w-]{11}-reg\.sock"),
        (52, r"dra-[\w-]{11}\.sock", r"d*-[\w-]{11}-reg\.sock"),
        (53, r"dra-[\w-]{11}\.sock", r"dra-[\w-]{22}-reg\.sock"),
        (63, r"[\w-]{11}\.sock", r"dra-[\w-]{22}-reg\.sock"),
    ],
)
def test_a_long_driver_name_still_has_sockets(node: Node, length: int, service: str, registration: str) -> None:
    driver = node.start(driver_name="d" * length)
    assert len(str(driver.settings.kubelet_root)) == len("/var/lib/kubelet")
    assert driver.get_info().endpoint == str(driver.service)
    assert driver.health() == "SERVING"
    for path, pattern in ((driver.service, service), (driver.registration, registration)):
        assert len(str(path)) <= PATH_MAX
        assert re.fullmatch(pattern, path.name)


def test_without_overlap_names_are_the_default_ones(node: Node) -> None:
    node.start(seamless=False)
    assert node.sockets() == {"dra.sock", "d.fake.dra-reg.sock"}
