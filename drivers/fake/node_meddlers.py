"""Meddlers that act when a node is cordoned or loses a label, as drain automation does; see `drivers.fake.meddlers`.

Each looks only at the nodes that the DaemonSet's node selector named when it began.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kubernetes import client

LOOK = 0.5
Object = dict[str, Any]


class MeddledDriver:
    """A DaemonSet and the nodes that it is meant for.

    The selector comes from outside: the DaemonSet's own is changed while the driver is kept off its nodes, and a
    meddler that begins again just then would see none of them.
    """

    def __init__(self, namespace: str, daemon_set: str, selector: Mapping[str, str]) -> None:
        self.core, self.apps = client.CoreV1Api(), client.AppsV1Api()
        self.namespace, self.daemon_set, self.selector = namespace, daemon_set, dict(selector)
        self.names = {node["metadata"]["name"] for node in self._nodes() if self.selects(node)}

    def selects(self, node: Object) -> bool:
        """Whether the DaemonSet's selector names a node."""
        return bool(self.selector.items() <= node["metadata"].get("labels", {}).items())

    def looks(self) -> Iterator[list[Object]]:
        """The nodes, again and again."""
        while True:
            yield [node for node in self._nodes() if node["metadata"]["name"] in self.names]
            threading.Event().wait(LOOK)

    def cordoned(self) -> Iterator[set[str]]:
        """Names of the cordoned nodes, again and again."""
        for nodes in self.looks():
            yield {node["metadata"]["name"] for node in nodes if node["spec"].get("unschedulable")}

    def pods(self, node: str, *, of_driver: bool) -> list[Object]:
        """The namespace's pods on a node: those of DaemonSets, or the others."""
        listed = self._plain(self.core.list_namespaced_pod(self.namespace, field_selector=f"spec.nodeName={node}"))
        return [pod for pod in listed["items"] if of_driver == _of_daemon_set(pod)]

    def delete(self, pod: Object, **how: Any) -> None:
        """Delete a pod, which may be gone."""
        try:
            self.core.delete_namespaced_pod(pod["metadata"]["name"], self.namespace, **how)
        except client.ApiException as error:
            if error.status != 404:
                raise

    def keep_off(self, nodes: Iterable[str]) -> None:
        """Let the DaemonSet run everywhere but on these nodes."""
        names = sorted(nodes)
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": names}]}
        required = {"nodeSelectorTerms": [term]} if names else None
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        body = {"spec": {"template": {"spec": {"affinity": affinity}}}}
        self.apps.patch_namespaced_daemon_set(self.daemon_set, self.namespace, body)

    def _nodes(self) -> list[Object]:
        found: list[Object] = self._plain(self.core.list_node())["items"]
        return found

    def _plain(self, model: Any) -> Any:
        return self.core.api_client.sanitize_for_serialization(model)


def _names_a_claim(pod: Object) -> bool:
    over = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return bool(pod["spec"].get("resourceClaims")) and not over


def _of_daemon_set(pod: Object) -> bool:
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))


def remove_on_cordon(driver: MeddledDriver) -> None:
    """Take the driver off each node that is cordoned while it runs there, until the node is uncordoned."""
    off = set[str]()
    for cordoned in driver.cordoned():
        now = (off & cordoned) | {node for node in cordoned - off if driver.pods(node, of_driver=True)}
        if now != off:
            driver.keep_off(now)
            off = now


def gate_by_pods(driver: MeddledDriver) -> None:
    """Take the driver off a cordoned node once no unfinished pod there names a claim: it asks pods only."""
    off = set[str]()
    for cordoned in driver.cordoned():
        free = {n for n in cordoned if not any(map(_names_a_claim, driver.pods(n, of_driver=False)))}
        now = free | (off & cordoned)
        if now != off:
            driver.keep_off(now)
            off = now


def force_delete_on_cordon(driver: MeddledDriver) -> None:
    """Empty a cordoned node by force, without eviction and without a grace period."""
    for cordoned in driver.cordoned():
        for node in cordoned:
            for pod in driver.pods(node, of_driver=False):
                driver.delete(pod, grace_period_seconds=0)


def delete_driver_on_cordon(driver: MeddledDriver) -> None:
    """Delete the pods of DaemonSets, too, once when a node is cordoned."""
    emptied = set[str]()
    for cordoned in driver.cordoned():
        for node in cordoned - emptied:
            for pod in driver.pods(node, of_driver=True):
                driver.delete(pod)
        emptied = cordoned


def keep_labels(driver: MeddledDriver) -> None:
    """Put the labels back that the driver's node selector asks for, as a discovery of hardware does."""
    for nodes in driver.looks():
        for node in nodes:
            if not driver.selects(node):
                driver.core.patch_node(node["metadata"]["name"], {"metadata": {"labels": driver.selector}})


def never_return(driver: MeddledDriver) -> None:
    """Keep the driver off every node that once lost its label, also when the label is back."""
    off = set[str]()
    for nodes in driver.looks():
        now = off | {node["metadata"]["name"] for node in nodes if not driver.selects(node)}
        if now != off:
            driver.keep_off(now)
            off = now


DEEDS: dict[str, Callable[[MeddledDriver], None]] = {
    "remove-on-cordon": remove_on_cordon,
    "gate-by-pods": gate_by_pods,
    "force-delete-on-cordon": force_delete_on_cordon,
    "delete-driver-on-cordon": delete_driver_on_cordon,
    "keep-labels": keep_labels,
    "never-return": never_return,
}
