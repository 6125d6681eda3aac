"""Faults in what the driver publishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from drivers.fake.behaviour import Behaviour, NodeFiles, Publisher
from drivers.fake.faults.registry import fault
from drivers.fake.settings import Settings

if TYPE_CHECKING:
    from drivers.fake.kube import Object
    from drivers.fake.pool import Pool, PoolChanges


@fault("stale-slice")
class _StaleSlice(Behaviour):
    """A slice of an older generation stays in the pool, beside the complete current one."""

    def amend(self, changes: PoolChanges, pool: Pool, existing: Sequence[Object], owners: list[Object]) -> PoolChanges:
        changes = super().amend(changes, pool, existing, owners)
        body = pool.body(0, 0, owners)
        name = body["metadata"]["name"] = f"relic-{pool.slice_name(0)}"
        stands = any(item["metadata"]["name"] == name for item in existing)
        return replace(
            changes,
            deletes=tuple(other for other in changes.deletes if other != name),
            creates=changes.creates if stands else (body, *changes.creates),
        )


@fault("wrong-slice-count")
class _WrongSliceCount(Behaviour):
    """The pool is said to have one slice more than it has, so it never becomes complete."""

    def slice_count(self, count: int) -> int:
        return super().slice_count(count) + 1


@fault("shared-pool-name")
class _SharedPoolName(Behaviour):
    """The pool is named after the driver on each node."""

    def pool_name(self, settings: Settings) -> str:
        return settings.driver_name


@fault("deletes-slices-on-stop")
class _DeletesSlicesOnStop(Behaviour):
    """Slices are deleted when the driver stops."""

    def on_stop(self, publisher: Publisher) -> None:
        super().on_stop(publisher)
        publisher.delete_all()


@fault("no-republish-after-wipe", at_start=True)
class _NoRepublishAfterWipe(Behaviour):
    """What was published once on the node counts as published: slices that are deleted do not come back."""

    _memory: Path | None = None

    def on_start(self, files: NodeFiles) -> None:
        super().on_start(files)
        self._memory = files.settings.data_dir / "published"

    def amend(self, changes: PoolChanges, pool: Pool, existing: Sequence[Object], owners: list[Object]) -> PoolChanges:
        changes = super().amend(changes, pool, existing, owners)
        again = changes.generation > 1 or (self._memory is not None and self._memory.exists())
        return replace(changes, deletes=(), updates=(), creates=()) if changes.creates and again else changes

    def on_stop(self, publisher: Publisher) -> None:
        super().on_stop(publisher)
        if self._memory is not None:
            self._memory.touch()


@fault("no-owner")
class _NoOwner(Behaviour):
    """The slices are not owned by the Node, so they outlive it."""

    def owners(self, node: Object) -> list[Object]:  # noqa: ARG002
        return []
