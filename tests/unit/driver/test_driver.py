"""What is done to an installed driver: install, roll out, take away, bring back, freeze, remove."""

from __future__ import annotations

import copy
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import Instance, render
from drivers.loading import load
from drivers.saboteurs import REGISTRY
from fixtures.check.outcomes import CheckFailed
from fixtures.cluster.nodes.shell import DockerShell, NodeShell, NodeShellError
from fixtures.cluster.undoing import UndoLog
from fixtures.driver.disruptions import freeze
from fixtures.driver.driver import Driver
from fixtures.driver.healing import NotHealed, at_hand, heal, served
from fixtures.driver.serving import installed
from fixtures.kube import metrics
from fixtures.kube.status import is_ready, rolled_out
from fixtures.kube.timeouts import Timeouts
from fixtures.upgrade.rollouts import roll_out

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
NODES = ["node-1", "node-2"]
NAME = "driver-1a2b3c"
SPACE = "dra-1a2b3c"
COUNTS = ("desiredNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable")


def run_daemon_sets(memory: Memory) -> None:
    """What the DaemonSet controller, the kubelets and the drivers do: pods that are Ready, slices that stay."""
    for item in [i for i in memory.objects.values() if i["kind"] == "DaemonSet"]:
        name = item["metadata"]["name"]
        nowhere = any("nowhere" in key for key in item["spec"]["template"]["spec"]["nodeSelector"])
        wanted = [] if nowhere or name.endswith("-old-kubelets") else NODES
        for node in NODES:
            if ("Pod", SPACE, f"{name}-{node}") in memory.objects and node not in wanted:
                memory.drop("Pod", f"{name}-{node}", SPACE)
        stamp = json.dumps(item["spec"]["template"])
        for node in wanted:
            running = memory.objects.get(("Pod", SPACE, f"{name}-{node}"))
            if running and running["metadata"]["annotations"] != {"stamp": stamp}:
                memory.drop("Pod", f"{name}-{node}", SPACE)
            fresh = pod(f"{name}-{node}", node, owner=name)
            fresh["metadata"]["annotations"] = {"stamp": stamp}
            memory.put(fresh)
            pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": "d-1a2b3c.fake.dra", "nodeName": node, "pool": pool}
            memory.put({"kind": "ResourceSlice", "metadata": {"name": f"slice-{node}"}, "spec": spec})
        counts = dict.fromkeys(COUNTS, len(wanted))
        item["status"] = {**counts, "observedGeneration": item["metadata"]["generation"]}
    if not any(i["kind"] == "DaemonSet" for i in memory.objects.values()):
        for kind, space, name in list(memory.objects):
            if kind == "Pod" and name.startswith("driver"):
                memory.drop(kind, name, space)


def pod(name: str, node: str = "node-1", owner: str | None = None, *, ready: bool = True) -> Object:
    metadata: Object = {"name": name, "namespace": SPACE}
    if owner:
        metadata["ownerReferences"] = [{"name": owner, "controller": True}]
    status = {
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [{"name": "driver", "containerID": f"containerd://id-{node}", "state": {"running": {}}}],
    }
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": status}


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr(NodeShell, "signal", lambda self, pid, name: sent.append(f"{self.node} {pid} {name}"))
    monkeypatch.setattr(NodeShell, "serving_processes", lambda _, container: [7, 8] if container == "id-node-1" else [])

    def run(self: DockerShell, script: str) -> str:
        sent.append(f"{self.node}: {script}")
        return ""

    monkeypatch.setattr(DockerShell, "run", run)
    return sent


@pytest.fixture
def driver(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Driver:
    memory.reacts = lambda: run_daemon_sets(memory)
    monkeypatch.setattr(metrics, "registered_sockets", lambda _kube, node, name: [f"{node}/{name}"])
    instance = Instance(load("fake"), id="1a2b3c", run="run-1", version="1.0.0", node_selector={"devices": "true"})
    shells: dict[str, NodeShell] = {node: DockerShell(node, Path("docker")) for node in NODES}
    return Driver(memory, instance, NODES, shells, Timeouts())


def names(objects: list[Object]) -> list[str]:
    return sorted(item["metadata"]["name"] for item in objects)


def test_installing_applies_all_objects_in_their_order(driver: Driver, memory: Memory) -> None:
    driver.install()
    objects = render(driver.instance)
    assert memory.done == [f"apply {item['kind']}/{item['metadata']['name']}" for item in objects]
    assert names(driver.daemon_sets()) == [NAME, f"{NAME}-old-kubelets"]


def test_a_saboteur_of_the_package_is_in_what_is_installed(driver: Driver, memory: Memory) -> None:
    driver.saboteur = REGISTRY["second-installation"]
    driver.install()
    assert f"apply DaemonSet/{NAME}-old" in memory.done
    assert names(driver.pods()) == [f"{NAME}-node-1", f"{NAME}-node-2"], "the other installation's pods are not ours"


def test_pods_and_slices_are_the_drivers_own(driver: Driver, memory: Memory) -> None:
    driver.install()
    memory.put(pod("workload"))
    memory.put(pod("job", owner="job"))
    spec = {"driver": "other.dra", "nodeName": "node-1"}
    memory.put({"kind": "ResourceSlice", "metadata": {"name": "other"}, "spec": spec})
    assert names(driver.pods()) == [f"{NAME}-node-1", f"{NAME}-node-2"]
    assert names(driver.pods("node-2")) == [f"{NAME}-node-2"]
    assert names(driver.slices()) == ["slice-node-1", "slice-node-2"]
    assert names(driver.slices("node-1")) == ["slice-node-1"]


def test_a_driver_that_does_not_come_up_fails_the_check(driver: Driver, memory: Memory) -> None:
    memory.reacts = lambda: None
    driver.timeouts = Timeouts(1e-9)
    with pytest.raises(CheckFailed, match="all driver pods Ready"):
        driver.install()


def test_a_driver_that_does_not_register_fails_the_check(
    driver: Driver, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "registered_sockets", lambda *_: [])
    driver.timeouts = Timeouts(1, {"driver_up": 1e-9})
    memory.later = [lambda: None] * 9
    with pytest.raises(CheckFailed):
        driver.await_registered("node-1", timeout="driver_up")


def test_the_time_to_register_is_told(driver: Driver, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([memory.problem(503), [], ["socket"]])

    def registered(*_: object) -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(metrics, "registered_sockets", registered)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert 0 <= driver.await_registered("node-1") < 60


def test_a_rollout_changes_the_daemon_set_and_nothing_else(driver: Driver, memory: Memory) -> None:
    driver.install()
    memory.done.clear()
    roll_out(driver)
    assert memory.done == [f"apply DaemonSet/{NAME}", f"apply DaemonSet/{NAME}-old-kubelets"]
    template = driver.daemon_sets()[0]["spec"]["template"]
    versions = [e["value"] for e in template["spec"]["containers"][0]["env"] if e["name"] == "DRIVER_VERSION"]
    assert versions == ["2.0.0"]
    assert [d.what for d in driver.disturbances] == ["rollout to 2.0.0 begins", "rollout complete"]


def test_a_rollout_to_the_same_version_starts_it_anew(driver: Driver, memory: Memory) -> None:
    driver.install()
    memory.done.clear()
    driver.change_to(driver.instance)
    assert memory.done == [f"apply DaemonSet/{NAME}", f"apply DaemonSet/{NAME}-old-kubelets"]
    for item in driver.daemon_sets():
        assert item["spec"]["template"]["metadata"]["annotations"].keys() == {"dra-conformance/rollout"}
    memory.done.clear()
    driver.change_to(driver.instance)
    assert len(memory.done) == 2, "once more"


def test_a_stopped_driver_is_nowhere_until_it_is_started(driver: Driver) -> None:
    driver.install()
    driver.stop()
    assert driver.pods() == []
    driver.start()
    assert names(driver.pods()) == [f"{NAME}-node-1", f"{NAME}-node-2"]
    for item in driver.daemon_sets():
        assert item["spec"]["template"]["spec"]["nodeSelector"] == {"devices": "true"}
    assert [d.what for d in driver.disturbances] == ["driver stopped", "driver started"]


def test_a_driver_that_labels_bind_to_its_nodes_leaves_only_them(driver: Driver, memory: Memory) -> None:
    driver.install()
    for node in NODES:
        memory.put({"kind": "Node", "metadata": {"name": node, "labels": {"devices": "true", "room": "spare"}}})
    memory.done.clear()
    driver.bound = {"devices": "true"}
    driver.leave()
    assert [memory.get("Node", node)["metadata"]["labels"] for node in NODES] == [{"room": "spare"}] * len(NODES)
    assert memory.done == [f"patch Node/{node}" for node in NODES]
    driver.undo.undo(memory, driver.shells)
    whole = {"devices": "true", "room": "spare"}
    assert [memory.get("Node", node)["metadata"]["labels"] for node in NODES] == [whole] * len(NODES)
    driver.leave()
    driver.come_back()
    assert [memory.get("Node", node)["metadata"]["labels"] for node in NODES] == [whole] * len(NODES)


def test_a_driver_that_was_left_stopped_comes_back_before_it_is_removed(driver: Driver, memory: Memory) -> None:
    driver.install()
    driver.stop()
    memory.done.clear()
    driver.remove()
    assert memory.done[:2] == [f"patch DaemonSet/{NAME}-old-kubelets", f"patch DaemonSet/{NAME}"]
    assert memory.objects == {}


def test_a_frozen_driver_thaws_before_it_is_removed(driver: Driver, signals: list[str]) -> None:
    driver.install()
    assert freeze(driver, "node-1")["metadata"]["name"] == f"{NAME}-node-1"
    assert signals == ["node-1 7 STOP", "node-1 8 STOP"]
    driver.remove()
    assert signals[2:] == [f"node-1: kill -CONT {pid} 2>/dev/null || true" for pid in (8, 7)]
    assert "SIGSTOP" in driver.disturbances[0].what


def test_what_cannot_be_undone_does_not_keep_a_driver_from_being_removed(
    driver: Driver, memory: Memory, signals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.install()
    freeze(driver, "node-1")
    assert signals

    def gone(self: NodeShell, _script: str) -> str:
        raise NodeShellError(f"{self.node} is not there any more")

    monkeypatch.setattr(DockerShell, "run", gone)
    driver.remove()
    assert memory.objects == {}


@pytest.mark.usefixtures("signals")
def test_a_driver_without_a_serving_process_cannot_be_frozen(driver: Driver) -> None:
    driver.install()
    driver.timeouts = Timeouts(1, {"driver_start": 1e-9})
    with pytest.raises(CheckFailed, match=f"a process of {NAME}-node-2 listens"):
        freeze(driver, "node-2")


def test_removing_ends_the_workload_while_the_driver_can_still_unprepare(driver: Driver, memory: Memory) -> None:
    driver.install()
    memory.put(pod("workload"))
    metadata = {"name": "c", "namespace": SPACE}
    held = {"kind": "ResourceClaim", "metadata": metadata, "status": {"reservedFor": [{"uid": "u"}]}}
    memory.put(held)
    memory.later = [lambda: memory.put({**held, "status": {}})]
    memory.done.clear()
    driver.remove()
    deleted = [f"delete {item['kind']}/{item['metadata']['name']}" for item in reversed(render(driver.instance))]
    slices = [f"delete ResourceSlice/slice-{node}" for node in NODES]
    assert memory.done == ["delete Pod/workload in 1 s", *deleted, *slices]
    assert [kind for kind, _, _ in memory.objects] == ["ResourceClaim"]


@pytest.mark.parametrize("outlives", [True, False])
def test_nodes_that_live_on_are_left_as_they_were(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, outlives: bool
) -> None:
    forgot: list[str] = []
    monkeypatch.setattr(DockerShell, "outlives", outlives)
    monkeypatch.setattr(NodeShell, "forget", lambda self, name: forgot.append(f"{self.node} {name}"))
    driver.install()
    driver.remove()
    assert forgot == ([f"{node} {driver.name}" for node in NODES] if outlives else [])


def test_in_a_dead_cluster_nothing_is_removed(driver: Driver, memory: Memory) -> None:
    driver.install()
    memory.answers = False
    memory.done.clear()
    driver.remove()
    assert memory.done == []


@pytest.fixture
def theirs(driver: Driver, memory: Memory) -> Driver:
    """A driver that was there before, in a namespace of its own, with what its DaemonSet was like then."""
    manifest = driver.instance.manifest
    install = manifest.install.model_copy(update={"kind": "preinstalled", "files": (), "code": None})
    workload = manifest.workload.model_copy(update={"namespace": SPACE, "daemon_sets": (NAME,)})
    fixed = {"name": driver.name, "install": install, "workload": workload, "upgrade": None}
    driver.install()
    memory.drop("DaemonSet", f"{NAME}-old-kubelets", SPACE)
    instance = replace(driver.instance, id="9f9f9f", manifest=manifest.model_copy(update=fixed))
    memory.done.clear()
    return replace(driver, instance=instance, _objects=[], undo=UndoLog(), disturbed=set())


def test_a_preinstalled_driver_is_used_as_it_is(theirs: Driver, memory: Memory) -> None:
    before = copy.deepcopy(memory.objects)
    with at_hand(theirs, Path()):
        assert (theirs.home, theirs.namespace) == (SPACE, "dra-9f9f9f")
        assert names(theirs.pods()) == [f"{NAME}-node-1", f"{NAME}-node-2"]
    assert memory.objects == before
    assert memory.done == []


def test_the_workload_of_others_outlives_a_check(theirs: Driver, memory: Memory) -> None:
    memory.put(pod("somebody-elses"))
    mine = pod("workload")
    mine["metadata"]["namespace"] = theirs.namespace
    with at_hand(theirs, Path()):
        memory.put(mine)
    assert memory.done == ["delete Pod/workload in 1 s"]


def test_a_preinstalled_driver_is_started_anew_and_then_as_it_was(theirs: Driver, memory: Memory) -> None:
    def template() -> Object:
        found: Object = memory.get("DaemonSet", NAME, SPACE)["spec"]["template"]
        return {**found, "metadata": {k: v for k, v in found["metadata"].items() if v or k != "annotations"}}

    before = template()
    with at_hand(theirs, Path()):
        theirs.change_to(theirs.instance.upgraded())
        assert "dra-conformance/rollout" in template()["metadata"]["annotations"]
        theirs.leave()
    assert template() == before


def test_a_preinstalled_driver_that_does_not_heal_is_started_anew(
    theirs: Driver, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.timeouts = Timeouts(1, {"driver_up": 0.1})

    def registered(_kube: object, node: str, name: str) -> list[str]:
        anew = f"delete Pod/{NAME}-node-2" in " ".join(memory.done)
        return [f"{node}/{name}"] if node == "node-1" or anew else []

    with at_hand(theirs, Path()):
        monkeypatch.setattr(metrics, "registered_sockets", registered)
    assert [line for line in memory.done if "node-1" in line] == []
    assert "started anew" in theirs.disturbances[-1].what


def test_what_not_even_that_mends_is_told_with_the_remedy(theirs: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs.timeouts = Timeouts(1, {"driver_up": 0.1})
    with pytest.raises(NotHealed) as told, at_hand(theirs, Path()):
        monkeypatch.setattr(metrics, "registered_sockets", lambda *_: [])
    assert f"{theirs.name} on node-1: it is not registered with the kubelet" in str(told.value)
    assert str(told.value).endswith(f"mend it: kubectl rollout restart daemonset/{NAME} --namespace {SPACE}")


def test_devices_that_are_gone_and_sockets_that_are_lost_are_differences(
    theirs: Driver, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.timeouts = Timeouts(1, {"driver_up": 0.1})
    monkeypatch.setattr(DockerShell, "sockets", lambda *_: [])
    monkeypatch.setattr(DockerShell, "run", lambda *_: "")
    before = served(theirs)
    theirs.disturbed.add(("node-1", "service"))
    before["node-2"].add(("node-2", "device-7"))
    assert memory.objects
    with pytest.raises(NotHealed) as told:
        heal(theirs, before)
    assert "node-1: it has no service socket" in str(told.value)
    assert "node-2: 1 of its devices are in no slice, such as node-2/device-7" in str(told.value)


def test_who_changes_it_back_meanwhile_is_told(theirs: Driver, memory: Memory) -> None:
    with at_hand(theirs, Path()):
        theirs.leave()
        assert theirs.meddled() == []
        theirs.come_back()
        theirs.leave()
        item = memory.get("DaemonSet", NAME, SPACE)
        item["metadata"]["managedFields"] = [
            {"manager": "argocd-controller", "time": "2026-01-02T00:00:00Z"},
            {"manager": "kube-controller-manager", "time": "2026-01-03T00:00:00Z", "subresource": "status"},
            {"manager": "helm", "time": "2026-01-01T00:00:00Z"},
        ]
        memory.put(item)
        theirs.come_back()
        told = f"DaemonSet {NAME} was changed by argocd-controller after this check had changed it"
        assert theirs.meddled() == [told]


def test_a_driver_is_removed_even_if_it_never_came_up(driver: Driver, memory: Memory) -> None:
    memory.reacts = lambda: None
    driver.timeouts = Timeouts(1, {"driver_up": 1e-9})
    with pytest.raises(CheckFailed), installed(driver):
        raise AssertionError("it came up")
    assert memory.objects == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"observedGeneration": 4}, False),
        ({"updatedNumberScheduled": 1}, False),
        ({"numberReady": 1}, False),
        ({"numberAvailable": 1}, False),
        (dict.fromkeys(COUNTS, 0), False),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_a_rollout_is_complete_when_all_pods_are_new_and_ready(change: Object, expected: bool) -> None:
    item: Object = {"metadata": {"generation": 5}}
    item["status"] = {**dict.fromkeys(COUNTS, 2), "observedGeneration": 5, **change}
    none: Object = {"metadata": {"generation": 1}, "status": {"observedGeneration": 1}}
    assert rolled_out([item, none]) is expected


def test_a_daemon_set_that_nobody_looked_at_is_notrolled_out() -> None:
    assert not rolled_out([{"metadata": {"generation": 1}}])


def test_a_pod_on_its_way_out_is_not_ready() -> None:
    up, down = pod("a"), pod("b", ready=False)
    leaving, new = pod("c"), pod("d")
    leaving["metadata"]["deletionTimestamp"] = "2026"
    del new["status"]
    assert [is_ready(item) for item in (up, down, leaving, new)] == [True, False, False, False]
