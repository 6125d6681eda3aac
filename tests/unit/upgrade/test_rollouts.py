"""Rollouts end, well or without hope; versions that do not work are made of those that do."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest

from drivers.install import Instance, Overlay, render
from drivers.loading import load
from fixtures.check.outcomes import CheckFailed
from fixtures.upgrade.rollouts import HOPELESS, await_replaced, begin_failing, broken_versions

Object = dict[str, Any]
Objects = list[Object]


def instance(driver: str = "fake") -> Instance:
    return Instance(load(driver), id="1a2b3c", run="run-1", version="1.0.0", node_selector={}, faults=("slow-prepare",))


def pod(name: str, *, ready: bool = True, restarts: int = 0, waiting: str = "") -> Object:
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    return {
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": [{"name": "driver", "restartCount": restarts, "state": state}],
        },
    }


class Driver:
    """One whose pods are, one after the other, those that the test says."""

    def __init__(self, *steps: Objects) -> None:
        self.kube: Any = self
        self.instance = instance()
        self.home = "dra-1a2b3c"
        self.timeouts = {"rollout": 0.3}
        self.complete = False
        self.changes: list[tuple[Instance, Overlay | None]] = []
        self._steps = list(steps)

    def is_part(self, item: Object) -> bool:
        return not item["metadata"]["name"].startswith("workload")

    def await_rolled_out(self, what: str) -> None:
        assert what
        self.complete = True

    def change_to(self, target: Instance, overlay: Overlay | None = None) -> None:
        self.changes.append((target, overlay))

    def mark(self, what: str) -> None:
        assert what

    def listing(self, *_: Any) -> tuple[Objects, str]:
        return self._steps[0], "0"

    def watch(self, *_: Any) -> Generator[tuple[str, Object]]:
        for before, after in zip(self._steps, self._steps[1:], strict=False):
            names = {item["metadata"]["name"] for item in after}
            yield from (("MODIFIED", item) for item in after)
            yield from (("DELETED", item) for item in before if item["metadata"]["name"] not in names)
        self._steps[:-1] = []

    def list(self, kind: str, *_: Any, **__: Any) -> Any:
        """Pods; no events."""
        return self._steps[0] if kind == "Pod" else []


def replaced(driver: Any) -> list[str]:
    met: list[str] = []
    await_replaced(driver, {"old"}, "rollout complete", lambda item: met.append(item["metadata"]["name"]))
    return met


def test_a_rollout_is_complete_when_only_new_pods_are_left_and_all_are_ready() -> None:
    driver = Driver(
        [pod("old"), pod("workload")],
        [pod("old"), pod("new", ready=False)],
        [pod("old"), pod("new")],
        [pod("new")],
    )
    assert set(replaced(driver)) == {"new"}
    assert driver.complete


def test_a_rollout_in_which_an_old_pod_stays_is_not_complete() -> None:
    driver = Driver([pod("old"), pod("new")])
    with pytest.raises(CheckFailed, match="rollout complete within"):
        replaced(driver)


def test_a_new_version_that_is_restarted_again_and_again_is_without_hope() -> None:
    driver = Driver([pod("old", restarts=9)], [pod("old"), pod("new", ready=False, restarts=HOPELESS)])
    with pytest.raises(CheckFailed, match=f"new was restarted {HOPELESS} times"):
        replaced(driver)


def test_a_broken_version_is_in_a_crash_loop_before_anything_is_judged() -> None:
    driver: Any = Driver(
        [pod("old", waiting="CrashLoopBackOff"), pod("workload", waiting="CrashLoopBackOff")],
        [pod("new", waiting="CrashLoopBackOff", ready=False)],
    )
    (broken, _) = broken_versions(driver)
    begin_failing(driver, broken)
    assert driver.changes == [(broken.target, broken.overlay)]


def test_a_broken_version_that_does_not_fail_is_no_proof() -> None:
    driver: Any = Driver([pod("old")], [pod("new")])
    with pytest.raises(CheckFailed, match="crash loop"):
        begin_failing(driver, broken_versions(driver)[0])


def test_a_broken_version_of_any_driver_lacks_its_program() -> None:
    driver: Any = SimpleNamespace(instance=instance("kubernetes-pydra"))
    (broken,) = broken_versions(driver)
    assert broken.overlay
    objects = broken.overlay(render(broken.target))
    (daemon_set,) = [item for item in objects if item["kind"] == "DaemonSet"]
    (container,) = daemon_set["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/dra-conformance/no-such-program"]


def test_the_fake_driver_has_one_that_dies_besides() -> None:
    driver: Any = SimpleNamespace(instance=instance())
    _, dying = broken_versions(driver)
    assert dying.target.version == "2.0.0"
    assert dying.target.faults == ("slow-prepare", "dies-after-registration")
    assert dying.overlay is None
