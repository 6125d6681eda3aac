"""An API server in memory for unit tests, without HTTP: objects, selectors, and the watches that waits are made of."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.dynamic import exceptions

from fixtures.kube.api import Gone, Kube, Refused

Object = dict[str, Any]
Key = tuple[str, str | None, str]


class Memory(Kube):
    """Objects by kind, namespace and name; `done` tells what was asked to change.

    Nothing happens by itself. `reacts` is called after each change, as a controller would be; what is to happen during
    a wait is put into `later`, one deed per watch. A watch that nothing can end fails the test.
    """

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.done: list[str] = []
        self.later: list[Callable[[], object]] = []
        self.reacts: Callable[[], object] = lambda: None
        self.answers = True
        self._events: list[tuple[str, Object]] = []
        self._versions = itertools.count(1)

    def put(self, item: Object) -> Object:
        """What somebody else creates or changes."""
        key = (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        known = self.objects.get(key)
        item = copy.deepcopy(item)
        version = next(self._versions)
        item["metadata"]["uid"] = known["metadata"]["uid"] if known else f"uid-{version}"
        item["metadata"]["resourceVersion"] = str(version)
        item["metadata"]["generation"] = version
        self.objects[key] = item
        self._events.append(("MODIFIED" if known else "ADDED", item))
        return copy.deepcopy(item)

    def drop(self, kind: str, name: str, namespace: str | None = None) -> None:
        """What somebody else deletes."""
        item = self.objects.pop((kind, namespace, name))
        item["metadata"]["resourceVersion"] = str(next(self._versions))
        self._events.append(("DELETED", item))

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object:
        try:
            return copy.deepcopy(self.objects[kind, namespace, name])
        except KeyError:
            raise self.problem(404) from None

    def listing(
        self, kind: str, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> tuple[list[Object], str]:
        found = [
            item
            for (k, n, _), item in self.objects.items()
            if k == kind and namespace in (None, n) and _matches(item, labels, fields)
        ]
        return copy.deepcopy(found), str(len(self._events))

    def watch(
        self, kind: str, since: str, seconds: float, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> Generator[tuple[str, Object]]:
        assert seconds > 0
        seen = len(self._events)
        assert self.later, f"waits for {kind} {namespace} {labels} {fields} since {since}, and nothing will happen"
        self.later.pop(0)()
        for change, item in self._events[seen:]:
            if item["kind"] == kind and namespace in (None, item["metadata"].get("namespace")):
                yield change, copy.deepcopy(item)

    def create(self, item: Object, *, dry_run: bool = False) -> Object:
        assert not dry_run
        return self._write("create", item)

    def apply(self, item: Object) -> Object:
        return self._write("apply", item)

    def replace(self, item: Object) -> Object:
        return self._write("replace", item)

    def _write(self, verb: str, item: Object) -> Object:
        self.done.append(f"{verb} {item['kind']}/{item['metadata']['name']}")
        made = self.put(item)
        self.reacts()
        return made

    def patch(
        self,
        kind: str,
        name: str,
        namespace: str | None,
        patch: Object,
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> Object:
        assert not dry_run
        self.done.append(f"patch {kind}/{name}{subresource}")
        item = self.get(kind, name, namespace)
        _merge(item, patch)
        made = self.put(item)
        self.reacts()
        return made

    def delete(self, kind: str, name: str, namespace: str | None = None, *, grace: int | None = None) -> None:
        self.done.append(f"delete {kind}/{name}" + (f" in {grace} s" if grace is not None else ""))
        if (kind, namespace, name) in self.objects:
            self.drop(kind, name, namespace)
            self.reacts()

    def alive(self) -> bool:
        return self.answers

    @staticmethod
    def problem(status: int) -> exceptions.DynamicApiError:
        """The error that the client raises for an answer of the API server."""
        kinds: dict[int, type[exceptions.DynamicApiError]] = {
            403: Refused,
            404: Gone,
            503: exceptions.ServiceUnavailableError,
        }
        facts = SimpleNamespace(status=status, reason="", body="", headers={})
        error: exceptions.DynamicApiError = kinds[status](facts)
        return error


def _matches(item: Object, labels: str, fields: str) -> bool:
    key, _, wanted = labels.partition("=")
    given = item["metadata"].get("labels", {})
    if labels and (key not in given or (wanted and given[key] != wanted)):
        return False
    for path, _, wanted in (part.partition("=") for part in fields.split(",") if part):
        value: Any = item
        for step in path.split("."):
            value = value.get(step, {})
        if value != wanted:
            return False
    return True


def _merge(item: Object, patch: Object) -> None:
    for key, value in patch.items():
        if value is None:
            item.pop(key, None)
        elif isinstance(value, dict):
            _merge(item.setdefault(key, {}), value)
        else:
            item[key] = value


@pytest.fixture
def memory() -> Memory:
    """An empty API server."""
    return Memory()
