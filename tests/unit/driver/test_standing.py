"""One installation of a driver for all checks: made once, lent, given back as it was, and removed without a trace."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import RUN_LABEL
from fixtures.check.outcomes import OtherOutcome
from fixtures.cluster.nodes.shell import DockerShell, NodeShell
from fixtures.cluster.undoing import undo_log
from fixtures.driver.driver import Driver
from fixtures.driver.healing import at_hand
from fixtures.driver.standing import fall
from fixtures.kube.placing import UnknownKind, placed
from fixtures.kube.timeouts import Timeouts
from tests.unit.driver.test_driver import NODES, SPACE, driver, names, pod

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

__all__ = ["driver"]
Object = dict[str, Any]
NAME = "driver"


@pytest.fixture
def fixed(driver: Driver, tmp_path: Path) -> Driver:
    manifest = driver.instance.manifest
    names = {"daemon_sets": (NAME, f"{NAME}-old-kubelets"), "service_account": NAME}
    workload = manifest.workload.model_copy(update={"namespace": SPACE, **names})
    there = manifest.model_copy(update={"name": driver.name, "workload": workload})
    made = replace(driver, instance=replace(driver.instance, manifest=there), _noted=set())
    made.undo = undo_log(tmp_path, "check")
    return made


def again(driver: Driver) -> Driver:
    """The same for the next check."""
    return replace(driver, _objects=[], _noted=set())


def test_the_first_check_installs_it_and_the_next_one_finds_it(fixed: Driver, memory: Memory, tmp_path: Path) -> None:
    with at_hand(fixed, tmp_path):
        assert "apply Namespace/dra-1a2b3c" in memory.done
        assert names(fixed.pods()) == [f"{NAME}-{node}" for node in NODES]
    memory.done.clear()
    with at_hand(again(fixed), tmp_path):
        pass
    assert memory.done == []


def test_a_check_sees_the_pods_and_slices_of_its_own_nodes_only(fixed: Driver, memory: Memory, tmp_path: Path) -> None:
    with at_hand(fixed, tmp_path):
        memory.put(pod("broken", "node-2", owner=NAME, ready=False))
    one = replace(again(fixed), nodes=["node-1"])
    with at_hand(one, tmp_path):
        assert names(one.pods()) == [f"{NAME}-node-1"]
        assert names(one.slices()) == ["slice-node-1"]


def test_after_a_rollout_it_is_the_version_of_before(fixed: Driver, memory: Memory, tmp_path: Path) -> None:
    def version() -> str:
        (container,) = memory.get("DaemonSet", NAME, SPACE)["spec"]["template"]["spec"]["containers"]
        return str(next(e["value"] for e in container["env"] if e["name"] == "DRIVER_VERSION"))

    with at_hand(fixed, tmp_path):
        fixed.change_to(fixed.instance.upgraded())
        assert version() == "2.0.0"
        (written,) = (tmp_path / "undo").iterdir()
        assert "AsApplied" in written.read_text(), "who ends the run could undo it"
    assert version() == "1.0.0"
    assert not list((tmp_path / "undo").iterdir())


def test_what_was_rolled_back_is_not_rolled_out_a_third_time(fixed: Driver, memory: Memory, tmp_path: Path) -> None:
    with at_hand(fixed, tmp_path):
        fixed.change_to(fixed.instance.upgraded())
        memory.done.clear()
        fixed.change_to(fixed.instance)
        assert memory.done[:2] == [f"apply DaemonSet/{NAME}", f"patch DaemonSet/{NAME}"], "its stamp has a second owner"


def test_one_that_does_not_come_up_is_waited_for_once(fixed: Driver, memory: Memory, tmp_path: Path) -> None:
    memory.reacts = lambda: None
    fixed.timeouts = Timeouts(1e-9)
    for attempt in range(2):
        with pytest.raises(OtherOutcome) as told, at_hand(again(fixed), tmp_path):
            pass
        assert told.value.outcome == "inconclusive"
        assert "was installed and does not serve" in told.value.reason
        assert f"{NAME} has no pod" in told.value.reason
        memory.done = memory.done if attempt == 0 else [*memory.done, "second"]
    assert memory.done.count("apply DeviceClass/d-1a2b3c.fake.dra") == 1


def test_what_is_of_somebody_else_is_not_touched(fixed: Driver, memory: Memory, tmp_path: Path) -> None:
    memory.put({"kind": "DaemonSet", "metadata": {"name": NAME, "namespace": SPACE}})
    with pytest.raises(OtherOutcome, match=f"DaemonSet {NAME} is there already"), at_hand(fixed, tmp_path):
        pass
    assert memory.done == []


def test_it_is_removed_without_a_trace(
    fixed: Driver, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgot: list[str] = []
    monkeypatch.setattr(DockerShell, "outlives", True)
    monkeypatch.setattr(NodeShell, "forget", lambda self, name: forgot.append(f"{self.node} {name}"))
    with at_hand(fixed, tmp_path):
        pass
    assert fall(memory, tmp_path, fixed.shells) == []
    assert memory.objects == {}
    assert forgot == [f"{node} d-1a2b3c.fake.dra" for node in NODES]
    assert fall(memory, tmp_path, fixed.shells) == [], "there is nothing more to remove"


def test_a_namespace_that_was_there_stays(fixed: Driver, memory: Memory, tmp_path: Path) -> None:
    memory.put({"kind": "Namespace", "metadata": {"name": SPACE}})
    with at_hand(fixed, tmp_path):
        assert RUN_LABEL not in memory.get("Namespace", SPACE)["metadata"].get("labels", {})
    fall(memory, tmp_path, {})
    assert list(memory.objects) == [("Namespace", None, SPACE)]


def test_kinds_that_nobody_knows_are_looked_up(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def raw(_self: object, _method: str, path: str) -> str:
        asked.append(path)
        if path.startswith("/apis/gone"):
            raise memory.problem(404)
        return json.dumps({"resources": [{"kind": "Widget", "name": "widgets", "namespaced": True}]})

    monkeypatch.setattr(type(memory), "raw", raw)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "own"}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    items = placed(memory, [widget, widget, account, role], "home")
    assert [item["metadata"].get("namespace") for item in items] == ["home", "home", "own", None]
    assert asked == ["/apis/example.com/v1"]
    with pytest.raises(UnknownKind, match="gone/v1 Relic of w is not served here"):
        placed(memory, [{**widget, "apiVersion": "gone/v1", "kind": "Relic"}], "home")
