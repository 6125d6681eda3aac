"""Saboteurs of what is monitored, and of components under load."""

from __future__ import annotations

from typing import Any

from drivers.saboteurs.model import Component, Saboteur, driver

Object = dict[str, Any]
_ADMISSION = "admissionregistration.k8s.io/v1"


def limited(id: str, component: Component, plants: str, qps: int, *breaks: str) -> Saboteur:  # noqa: A002
    """A component of the cluster with simulated nodes whose client may ask the API server for little."""
    flags = {component: {"kube-api-qps": str(qps), "kube-api-burst": str(qps)}}
    return Saboteur(id, "cluster", plants, breaks, flags=flags, topology="scale")


def keeping(id: str, plants: str, *breaks: str) -> Saboteur:  # noqa: A002
    """An admission policy in the cluster with simulated nodes that refuses to delete claims."""
    spec = _matching("DELETE", "resourceclaims") | {"validations": [{"expression": "false", "message": plants}]}
    policy = _policy("ValidatingAdmissionPolicy", id, spec)
    bound = {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    objects = (policy, _policy("ValidatingAdmissionPolicyBinding", id, bound))
    return Saboteur(id, "cluster", plants, breaks, objects=objects, topology="scale")


def rewriting(id: str, prefix: str, path: str, value: str) -> tuple[Object, Object]:  # noqa: A002
    """An admission policy (1.36 and later) that writes a value into the allocated claims of some pods."""
    allocated = f"object.metadata.name.startsWith('{prefix}') && has(object.status.allocation)"
    patch = f'[JSONPatch{{op: "replace", path: "{path}", value: "{value}"}}]'
    spec = _matching("UPDATE", "resourceclaims/status") | {
        "matchConditions": [{"name": "allocated", "expression": allocated}],
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
    }
    policy = _policy("MutatingAdmissionPolicy", id, spec)
    return policy, _policy("MutatingAdmissionPolicyBinding", id, {"policyName": policy["metadata"]["name"]})


def _policy(kind: str, id: str, spec: Object) -> Object:  # noqa: A002
    return {"apiVersion": _ADMISSION, "kind": kind, "metadata": {"name": f"careless-{id}"}, "spec": spec}


def _matching(operation: str, resource: str) -> Object:
    rule = {"apiGroups": ["resource.k8s.io"], "apiVersions": ["*"], "operations": [operation], "resources": [resource]}
    return {"matchConstraints": {"resourceRules": [rule]}}


SABOTEURS: tuple[Saboteur, ...] = (
    driver(
        "no-metrics",
        "the driver does not expose its DRA metrics",
        "scale.metrics.exposed",
    ),
    driver(
        "slow-prepare",
        "preparing a claim takes two seconds",
        "scale.prepare.latency",
        "scale.bottleneck.named",
    ),
    limited(
        "slow-controller-manager",
        "kube-controller-manager",
        "the controller manager may make five calls per second",
        5,
        "scale.reference.meets-baseline",
        "scale.reference.queue-drains",
        "scale.bottleneck.named",
        "scale.diagnosis.page-rules",
    ),
    limited(
        "slow-scheduler",
        "kube-scheduler",
        "the scheduler may make two calls per second",
        2,
        "scale.reference.meets-baseline",
        "scale.bottleneck.named",
        "scale.tuning.sweep",
        "scale.noisy-neighbour.plain-pods",
    ),
    keeping(
        "claims-kept",
        "nobody may delete a claim, and who has to tries again and again",
        "scale.reference.queue-drains",
        "scale.cost.per-pod",
        "scale.parallel.no-double-allocation",
    ),
    Saboteur(
        "same-device-again",
        "cluster",
        "what the scheduler allocates is rewritten on its way: always the first device of the node",
        ("scale.parallel.no-double-allocation",),
        objects=rewriting("same-device-again", "wave-", "/status/allocation/devices/results/0/device", "device-0"),
        topology="scale",
    ),
)
