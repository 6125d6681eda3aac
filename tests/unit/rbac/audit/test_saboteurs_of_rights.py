"""Every saboteur that plants roles and bindings, against the checks that need no node, with RBAC evaluated in memory.

A cluster proves the same with its own authorizer (tests/sensitivity); here it takes a second. Left out are admission
policies, and the kubelet and the driver as a program; what the driver's ServiceAccount may do is in.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from drivers.saboteurs import REGISTRY, Saboteur
from fixtures.check.outcomes import CheckFailed
from fixtures.kube.api import Kube, Refused
from fixtures.kube.subjects import Subject
from fixtures.rbac.audit.audit import Audit
from fixtures.rbac.audit.expected import BUILT_IN
from fixtures.rbac.audit.reading import Cluster
from fixtures.rbac.personas import driver_rights
from fixtures.rbac.personas.identities import Persona

if TYPE_CHECKING:
    from tests.unit.rbac.audit.conftest import World

Object = dict[str, Any]
SUITES = Path(__file__).parents[4] / "suites" / "rbac"
PREFIX = "rbac.authorization.k8s.io/aggregate-to-"
CLAIMS = "resourceclaims resourceclaimtemplates"
PLANTED = [
    saboteur
    for saboteur in REGISTRY.values()
    if saboteur.layer == "cluster" and {check.split(".")[0] for check in saboteur.breaks} == {"rbac"}
    if not any("Policy" in item["kind"] for item in saboteur.objects)
]
ELSEWHERE = {"rbac.kubelet.own-slices", "rbac.agreement.reviews-match-requests"}
DRIVER = "rbac.driver.least-privilege"


class Authorizer(Kube):
    """Grants what the bindings of a cluster give to a subject; what is granted works."""

    def __init__(self, cluster: Cluster, subject: Subject) -> None:
        self.grants = [
            grant
            for grant in cluster.grants
            if grant.subject == subject or (grant.subject.kind == "Group" and grant.subject.name in subject.groups)
        ]

    def allows(self, verb: str, group: str, resource: str, namespace: str | None, name: str) -> bool:
        return any(
            {verb, "*"} & rule.verbs_on(group, resource) and (not rule.names or name in rule.names)
            for grant in self.grants
            if grant.namespace in (None, namespace)
            for rule in grant.rules
        )

    def raw(self, method: str, path: str, **parameters: Any) -> str:
        parts = path.strip("/").split("/")
        group, rest = (parts[1], parts[3:]) if parts[0] == "apis" else ("", parts[2:])
        namespace = rest[1] if rest[0] == "namespaces" else None
        resource, *more = rest[2:] if namespace and len(rest) > 2 else rest
        name = more[0] if more else ""
        resource = "/".join([resource, *more[1:]])
        verb = {"post": "create", "put": "update", "patch": "patch"}.get(method) or {
            "get": ("watch" if parameters.get("watch") else "list", "get"),
            "delete": ("deletecollection", "delete"),
        }[method][bool(name)]
        if not self.allows(verb, group, resource, namespace, name):
            facts: Any = SimpleNamespace(status=403, reason="", body=json.dumps({"message": "no"}), headers={})
            raise Refused(facts)  # type: ignore[no-untyped-call]
        return "{}"

    def post(self, path: str, body: Object, **_: Any) -> Object:
        assert path.endswith("/selfsubjectaccessreviews")
        asked = body["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, [asked["resource"], asked["subresource"]]))
        allowed = self.allows(asked["verb"], asked["group"], resource, asked["namespace"] or None, asked["name"])
        return {"status": {"allowed": allowed}}


@pytest.fixture
def cluster(world: World) -> World:
    """What every cluster has, and what the checks bring along: an operator, a viewer, and a driver."""
    reads = world.rule(f"{CLAIMS} resourceclaims/status", "get list watch")
    writes = world.rule(CLAIMS, "create update patch delete deletecollection")
    pods = world.rule("pods secrets", "get list create", "")
    world.role("system:aggregate-to-view", reads, into=f"{PREFIX}view")
    world.role("system:aggregate-to-edit", writes, pods, into=f"{PREFIX}edit")
    for name, above in (("view", "edit"), ("edit", "admin"), ("admin", "")):
        world.role(name, into=f"{PREFIX}{above}" if above else "", of=f"{PREFIX}{name}")
    world.give("Group system:masters", world.rule("*", "*", "*"))
    world.bind("operator", "edit", "ServiceAccount dra-1/operator", "dra-1")
    world.bind("viewer", "view", "ServiceAccount dra-1/viewer", "dra-1")
    world.give("ServiceAccount dra-1/driver", world.rule("resourceslices", "get list watch create update patch delete"))
    return world


def plant(world: World, saboteur: Saboteur) -> None:
    for item in saboteur.objects:
        world.objects[item["kind"]].append(item)
    for edit in saboteur.edits:
        items = world.objects[edit.kind]
        items[:] = [edit.change(item) if item["metadata"]["name"] == edit.name else item for item in items]


def checks() -> dict[str, Callable[..., None]]:
    """The checks of people's rights and of the audit, by id."""
    found: dict[str, Callable[..., None]] = {}
    for name in ("operator", "viewer", "audit"):
        spec = importlib.util.spec_from_file_location(f"rbac_{name}", SUITES / f"test_{name}.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for function in vars(module).values():
            for mark in getattr(function, "pytestmark", []):
                found[mark.args[0].id] = function
    return found


CHECKS = checks()


def failed(world: World) -> set[str]:
    """Ids of the checks that fail; the checks' own namespace is left out of audits, as on a cluster."""
    whole = world.cluster()

    def persona(name: str) -> Persona:
        subject = Subject("ServiceAccount", name, "dra-1")
        return Persona(Authorizer(whole, subject), subject, "dra-1", name)

    world.namespace("dra-1", dra_conformance__run="run")
    known: Object = {
        "operator": persona("operator"),
        "viewer": persona("viewer"),
        "api": whole.served,
        "elsewhere": "dra-1-other",
        "check_run": SimpleNamespace(tables=[], note=lambda _text: None),
        "audit": Audit(world.cluster(), BUILT_IN),
    }
    broken = set()
    for name, function in CHECKS.items():
        try:
            function(**{word: known[word] for word in inspect.signature(function).parameters})
        except CheckFailed:
            broken.add(name)
    return broken | ({DRIVER} if driver_rights.excessive(persona("driver"), whole.served) else set())


def test_the_cluster_without_a_saboteur_is_in_order(cluster: World) -> None:
    assert failed(cluster) == set()
    assert len(CHECKS) == 13


@pytest.mark.parametrize("saboteur", PLANTED, ids=lambda saboteur: saboteur.id)
def test_each_is_caught_by_exactly_what_it_declares(cluster: World, saboteur: Saboteur) -> None:
    plant(cluster, saboteur)
    assert failed(cluster) == set(saboteur.breaks) - ELSEWHERE
