"""Small controllers that do what careless automation does: `python3 -m drivers.fake.meddlers DEED NAMESPACE DAEMONSET`.

They run in a cluster next to a driver, planted by a saboteur.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubernetes import client, config, watch

from drivers.fake import claim_meddlers, node_meddlers

FORCE_AFTER = 8.0


def force_delete(namespace: str, _daemon_set: str) -> None:
    """Force-delete each pod that still exists some seconds after it should have ended."""
    core = client.CoreV1Api()

    def finish(name: str) -> None:
        try:
            core.delete_namespaced_pod(name=name, namespace=namespace, grace_period_seconds=0)
        except client.ApiException as error:
            if error.status != 404:
                raise

    doomed: set[str] = set()
    for event in _events(core.list_namespaced_pod, namespace=namespace):
        metadata = event["object"]["metadata"]
        if event["type"] != "DELETED" and metadata.get("deletionTimestamp") and metadata["uid"] not in doomed:
            doomed.add(metadata["uid"])
            wait = FORCE_AFTER + metadata.get("deletionGracePeriodSeconds", 0)
            threading.Timer(wait, finish, [metadata["name"]]).start()


def _events(listing: Callable[..., Any], **where: str) -> Any:
    while True:
        watching: Any = watch.Watch()  # type: ignore[no-untyped-call]
        for event in watching.stream(listing, timeout_seconds=600, **where):
            yield {"type": event["type"], "object": event["raw_object"]}


DEEDS: dict[str, Callable[[str, str], None]] = {
    "force-delete": force_delete,
    **node_meddlers.DEEDS,
    **claim_meddlers.DEEDS,
}

if __name__ == "__main__":
    config.load_incluster_config()  # type: ignore[no-untyped-call]
    Path("/tmp/at-work").touch()  # what its startup probe waits for
    DEEDS[sys.argv[1]](*sys.argv[2:4])
