"""Meddlers that act on pods with claims while their driver is away; see `drivers.fake.meddlers`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from kubernetes import client

from drivers.fake.node_meddlers import MeddledDriver

PATIENCE = 10.0
_API, _PLURAL = ("resource.k8s.io", "v1"), "resourceclaims"


def evict_without_driver(driver: MeddledDriver) -> None:
    """Delete the running pods with claims of nodes that are without their driver for long."""
    since = dict[str, float]()
    for _ in driver.looks():
        for node in driver.names:
            if any("deletionTimestamp" not in pod["metadata"] for pod in driver.pods(node, of_driver=True)):
                since.pop(node, None)
            elif time.monotonic() - since.setdefault(node, time.monotonic()) > PATIENCE:
                for pod in driver.pods(node, of_driver=False):
                    if pod["spec"].get("resourceClaims") and pod["status"]["phase"] == "Running":
                        driver.delete(pod)


def free_claims(driver: MeddledDriver) -> None:
    """Write into the claims of pods that are Terminating for long that they hold nothing."""
    patch = client.CustomObjectsApi().patch_namespaced_custom_object_status
    for claim in _stuck(driver):
        _unless_gone(patch, *_API, driver.namespace, _PLURAL, claim, {"status": None})


def strip_finalizers(driver: MeddledDriver) -> None:
    """Delete the claims of pods that are Terminating for long, and take off the finalizers that keep them."""
    api = client.CustomObjectsApi()
    for claim in _stuck(driver):
        _unless_gone(api.delete_namespaced_custom_object, *_API, driver.namespace, _PLURAL, claim)
        bare = {"metadata": {"finalizers": None}}
        _unless_gone(api.patch_namespaced_custom_object, *_API, driver.namespace, _PLURAL, claim, bare)


def _stuck(driver: MeddledDriver) -> Iterator[str]:
    """Names of the claims of pods that are Terminating for some seconds more than they were given; each once."""
    since, done = dict[str, float](), set[str]()
    for nodes in driver.looks():
        for pod in (pod for node in nodes for pod in driver.pods(node["metadata"]["name"], of_driver=False)):
            metadata = pod["metadata"]
            if "deletionTimestamp" in metadata and metadata["uid"] not in done:
                begun = since.setdefault(metadata["uid"], time.monotonic())
                if time.monotonic() - begun > PATIENCE + metadata.get("deletionGracePeriodSeconds", 0):
                    done.add(metadata["uid"])
                    yield from (s["resourceClaimName"] for s in pod["status"].get("resourceClaimStatuses", []))


def _unless_gone(deed: Callable[..., Any], *words: Any) -> None:
    try:
        deed(*words)
    except client.ApiException as error:
        if error.status != 404:
            raise


DEEDS: dict[str, Callable[[MeddledDriver], None]] = {
    "evict-without-driver": evict_without_driver,
    "free-claims": free_claims,
    "strip-finalizers": strip_finalizers,
}
