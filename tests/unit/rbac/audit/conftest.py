"""A cluster's roles and bindings, put together in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.kube.discovery import Served
from fixtures.rbac.audit.reading import Cluster

Object = dict[str, Any]
SERVED = tuple(
    Served("v1", name, namespaced)
    for name, namespaced in (
        ("deviceclasses", False),
        ("devicetaintrules", False),
        ("devicetaintrules/status", False),
        ("resourceslices", False),
        ("resourceclaims", True),
        ("resourceclaims/status", True),
        ("resourceclaimtemplates", True),
    )
)


def rule(resources: str, verbs: str, group: str = "resource.k8s.io", names: str = "") -> Object:
    made: Object = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return made | ({"resourceNames": names.split()} if names else {})


class World:
    """Collects objects; `cluster()` is what an audit would have read."""

    rule = staticmethod(rule)

    def __init__(self) -> None:
        self.objects: dict[str, list[Object]] = {
            kind: [] for kind in ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding", "Namespace")
        }

    def role(self, name: str, *rules: Object, namespace: str | None = None, into: str = "", of: str = "") -> None:
        """`into`: label for aggregation; `of`: aggregates what has that label."""
        metadata: Object = {"name": name, "labels": {into: "true"} if into else {}}
        item: Object = {"metadata": metadata, "rules": list(rules)}
        if of:
            item["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {of: "true"}}]}
        if namespace:
            metadata["namespace"] = namespace
        self.objects["Role" if namespace else "ClusterRole"].append(item)

    def bind(self, name: str, role: str, subject: str, namespace: str | None = None) -> None:
        """`role` is `Role/NAME` or the name of a ClusterRole; `subject` is `KIND NAME` or `ServiceAccount NS/NAME`."""
        kind, _, called = role.rpartition("/")
        who, _, whom = subject.partition(" ")
        home, _, account = whom.rpartition("/")
        metadata: Object = {"name": name} | ({"namespace": namespace} if namespace else {})
        entry = {"kind": who, "name": account if home else whom} | ({"namespace": home} if home else {})
        bound = "RoleBinding" if namespace else "ClusterRoleBinding"
        reference = {"kind": kind or "ClusterRole", "name": called}
        item = {"kind": bound, "metadata": metadata, "roleRef": reference, "subjects": [entry]}
        self.objects[bound].append(item)

    def give(self, subject: str, *rules: Object, namespace: str | None = None) -> None:
        """A role and its binding, both named after their number."""
        name = f"r{len(self.objects['ClusterRole'])}"
        self.role(name, *rules)
        self.bind(name, name, subject, namespace)

    def namespace(self, name: str, **labels: str) -> None:
        found = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
        self.objects["Namespace"].append({"metadata": {"name": name, "labels": found}})

    def cluster(self) -> Cluster:
        return Cluster(SERVED, *(tuple(items) for items in self.objects.values()))


@pytest.fixture
def world() -> World:
    return World()
