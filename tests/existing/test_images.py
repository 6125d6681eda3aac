"""Pods run the images that `python -m fixtures.images` lists, and no others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from drivers.images import images_of
from drivers.install import RUN_LABEL
from drivers.loading import load
from fixtures.cluster.images import needed
from fixtures.kube.api import WatchExpired
from fixtures.kube.retries import TRANSIENT

if TYPE_CHECKING:
    from tests.existing.conftest import ByHand
    from tests.runs import Suite

CHECKS = "driver.prepare.device-visible,driver.prepare.isolation,liveness.probe.declared"


def test_the_list_is_what_pods_really_used(by_hand: ByHand, suite: Suite) -> None:
    seen: set[str] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            try:
                _, version = by_hand.kube.listing("Pod")
                for _change, pod in by_hand.kube.watch("Pod", version, 5):
                    namespace = by_hand.kube.find("Namespace", pod.get("metadata", {}).get("namespace", "default"))
                    if namespace and RUN_LABEL in namespace["metadata"].get("labels", {}):
                        seen.update(images_of([pod]))
            except (WatchExpired, *TRANSIENT):
                continue

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", f"--dra-check={CHECKS}", "-n0")
    finally:
        over.set()
        watcher.join(30)
    assert {done.outcomes()[check] for check in CHECKS.split(",")} == {"passed"}
    assert seen == set(needed(load("fake")))
