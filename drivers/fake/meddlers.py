"""Small controllers that do what careless automation does, next to a driver in a cluster, planted by a saboteur.

`python3 -m drivers.fake.meddlers DEED NAMESPACE DAEMONSET SELECTOR`, where the last is the DaemonSet's node selector in
JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client, config, watch

from drivers.fake import claim_meddlers, node_meddlers
from drivers.fake.node_meddlers import MeddledDriver

FORCE_AFTER = 8.0
PATIENTLY = urllib3.Retry(
    10, backoff_factor=0.2, backoff_max=2, status_forcelist=(429, 500, 502, 503, 504), allowed_methods=None
)
"""Its pauses stay short: a meddler that slept for a minute would miss its moment."""


def force_delete(driver: MeddledDriver) -> None:
    """Force-delete each pod that still exists some seconds after it should have ended."""
    doomed: set[str] = set()
    for event in _events(driver.core.list_namespaced_pod, namespace=driver.namespace):
        metadata = event["object"]["metadata"]
        if event["type"] != "DELETED" and metadata.get("deletionTimestamp") and metadata["uid"] not in doomed:
            doomed.add(metadata["uid"])
            wait = FORCE_AFTER + metadata.get("deletionGracePeriodSeconds", 0)
            threading.Timer(wait, driver.delete, [event["object"]], {"grace_period_seconds": 0}).start()


def _events(listing: Callable[..., Any], **where: str) -> Any:
    while True:
        watching: Any = watch.Watch()  # type: ignore[no-untyped-call]
        for event in watching.stream(listing, timeout_seconds=600, **where):
            yield {"type": event["type"], "object": event["raw_object"]}


DEEDS: dict[str, Callable[[MeddledDriver], None]] = {
    "force-delete": force_delete,
    **node_meddlers.DEEDS,
    **claim_meddlers.DEEDS,
}

if __name__ == "__main__":
    config.load_incluster_config()  # type: ignore[no-untyped-call]
    settings = client.Configuration.get_default_copy()
    settings.retries = PATIENTLY
    client.Configuration.set_default(settings)
    where = MeddledDriver(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
    Path("/tmp/at-work").touch()  # what its startup probe waits for
    DEEDS[sys.argv[1]](where)
