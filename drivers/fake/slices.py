"""The worker that keeps the published ResourceSlices what they should be, until the driver stops and beyond."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from drivers.fake.devices import Inventory
from drivers.fake.faults import Switches
from drivers.fake.kube import Api, ApiError, Object, SliceWatch
from drivers.fake.metrics import Metrics
from drivers.fake.pool import Pool, pool_changes, split
from drivers.fake.settings import Settings

QUIET_SECONDS = 0.1
PAUSE_MAX_SECONDS = 5.0
RETRY_MAX_SECONDS = 15.0
_MEMORY_SECONDS = 10.0
_GONE = 410

_LOG = logging.getLogger(__name__)


class SlicePublisher:
    """Publishes the devices of the node and repairs what others change or delete, within about a second.

    One thread follows the slices, one writes. Whoever wants a look at them calls `look`. Writes that keep being
    undone by somebody else slow down to one every few seconds.
    """

    def __init__(
        self, settings: Settings, api: Api, inventory: Inventory, switches: Switches, metrics: Metrics
    ) -> None:
        self._settings = settings
        self._api = api
        self._inventory = inventory
        self._switches = switches
        self._metrics = metrics
        self._slices: dict[str, Object] = {}
        self._gone: set[str] = set()
        self._lock = threading.Lock()
        self._listed = threading.Event()
        self._dirty = threading.Event()
        self._stopping = threading.Event()
        self._watch: SliceWatch | None = None
        self._generation = 0
        self._writes: deque[float] = deque()
        self._threads = [
            threading.Thread(target=self._follow, name="slices-watch", daemon=True),
            threading.Thread(target=self._work, name="slices-work", daemon=True),
        ]

    def start(self) -> None:
        """Begin in the background."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End; the slices stay."""
        self._stopping.set()
        self._dirty.set()
        self._listed.set()
        with self._lock:
            if self._watch is not None:
                self._watch.close()
        for thread in self._threads:
            thread.join(timeout=2)

    def look(self) -> None:
        """Ask for a comparison of published and desired slices."""
        self._metrics.sync_asked()
        self._dirty.set()

    def delete_all(self) -> None:
        """Delete every slice of this driver on this node, which a healthy driver never does."""
        for item in self._api.slices(self._settings.driver_name, self._settings.node_name)[0]:
            self._api.delete_slice(item["metadata"]["name"])

    def pool(self) -> Pool:
        """The desired pool."""
        settings, behaviour = self._settings, self._switches.behaviour
        parts = split(self._inventory.devices())
        counters = settings.shared_counters
        return Pool(
            name=behaviour.pool_name(settings),
            driver=settings.driver_name,
            node=settings.node_name,
            parts=parts,
            count=behaviour.slice_count(len(parts) + bool(counters)),
            labels=settings.labels,
            shared_counters=counters,
        )

    def _follow(self) -> None:
        pause = QUIET_SECONDS
        while not self._stopping.is_set():
            try:
                self._follow_once()
                pause = QUIET_SECONDS
            except ApiError as error:
                if error.status != _GONE and not self._stopping.is_set():
                    _LOG.warning("following slices: %s; again in %.1f s", error, pause)
            self._stopping.wait(pause)
            pause = min(pause * 2, RETRY_MAX_SECONDS)

    def _follow_once(self) -> None:
        driver, node = self._settings.driver_name, self._settings.node_name
        items, version = self._api.slices(driver, node)
        with self._lock:
            self._slices.clear()
            self._gone.clear()
        for item in items:
            self._learn("ADDED", item)
        self._listed.set()
        self.look()
        watch = self._api.watch_slices(driver, node, version)
        with self._lock:
            self._watch = watch
            if self._stopping.is_set():
                watch.close()
        for kind, item in watch:
            if self._learn(kind, item):
                self.look()

    def _learn(self, kind: str, item: Object) -> bool:
        """Take in a change; whether it was news."""
        name, uid = item["metadata"]["name"], item["metadata"]["uid"]
        with self._lock:
            self._generation = max(self._generation, item["spec"]["pool"]["generation"])
            known = self._slices.get(name)
            if kind == "DELETED":
                # The answer to our own create may come after the news that somebody deleted it.
                self._gone.add(uid)
                if known is not None and known["metadata"]["uid"] == uid:
                    del self._slices[name]
                return True
            if uid in self._gone or (known is not None and _version(known) >= _version(item)):
                return False
            self._slices[name] = item
            return True

    def _work(self) -> None:
        self._listed.wait()
        retry = 1.0
        while not self._stopping.is_set():
            self._dirty.wait()
            if self._stopping.wait(self._pause()):
                return
            self._dirty.clear()
            start = time.monotonic()
            try:
                self._sync()
                retry = 1.0
            except ApiError as error:
                _LOG.warning("publishing slices: %s; again in %.0f s", error, retry)
                self._metrics.sync_failed()
                self._relist()
                self._stopping.wait(retry)
                retry = min(retry * 2, RETRY_MAX_SECONDS)
                self._dirty.set()
            self._metrics.sync_done(time.monotonic() - start)

    def _pause(self) -> float:
        """How long to let further changes gather: longer, the more was written in the last seconds."""
        while self._writes and self._writes[0] < time.monotonic() - _MEMORY_SECONDS:
            self._writes.popleft()
        return min(QUIET_SECONDS * 2.0 ** len(self._writes), PAUSE_MAX_SECONDS)

    def _relist(self) -> None:
        """Forget the own view, which may be behind: a new list follows."""
        with self._lock:
            if self._watch is not None:
                self._watch.close()

    def _sync(self) -> None:
        behaviour = self._switches.behaviour
        owners = behaviour.owners(self._node())
        with self._lock:
            existing, generation = list(self._slices.values()), self._generation
        pool = self.pool()
        changes = pool_changes(existing, pool, owners, generation)
        changes = behaviour.amend(changes, pool, existing, owners)
        if changes.empty:
            return
        self._writes.append(time.monotonic())
        _LOG.info(
            "pool generation %d: %d slices deleted, %d updated, %d created",
            changes.generation,
            len(changes.deletes),
            len(changes.updates),
            len(changes.creates),
        )
        for name in changes.deletes:
            self._api.delete_slice(name)
            with self._lock:
                self._slices.pop(name, None)
        for item in changes.updates:
            self._learn("MODIFIED", self._api.update_slice(item))
        for item in changes.creates:
            self._learn("ADDED", self._api.create_slice(item))

    def _node(self) -> Object:
        """The Node as an owner."""
        node = self._api.node(self._settings.node_name)["metadata"]
        return {"apiVersion": "v1", "kind": "Node", "name": node["name"], "uid": node["uid"], "controller": True}


def _version(item: Mapping[str, Any]) -> int:
    return int(item["metadata"]["resourceVersion"])
