"""Pods, claims and slices as the API shows them, as far as drains look at them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
DRIVER, NODE, SPACE = "gpu.example.com", "node-1", "web"


def pod(name: str, *, node: str = NODE, phase: str = "Running", leaving: bool = False, **more: Any) -> Object:
    """A pod; `claims`, `made`, `extended`: names of its claims; `owner`: kind and name of its controller."""
    metadata: Object = {"name": name, "namespace": SPACE, "uid": f"uid-{name}"}
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if "owner" in more:
        kind, owner = more["owner"].split("/")
        metadata["ownerReferences"] = [{"kind": kind, "name": owner, "controller": True}]
    claims = [{"name": name, "resourceClaimName": name} for name in more.get("claims", ())]
    claims += [{"name": name, "resourceClaimTemplateName": "t"} for name in more.get("made", ())]
    state: Object = {"running": {}} if phase == "Running" else {"waiting": {}}
    status: Object = {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]}
    if "made" in more:
        status["resourceClaimStatuses"] = [{"name": name, "resourceClaimName": name} for name in more["made"]]
    if "extended" in more:
        status["extendedResourceClaimStatus"] = {"resourceClaimName": more["extended"]}
    spec = {"nodeName": node, "resourceClaims": claims, "volumes": more.get("volumes", [])}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def claim(name: str, *users: Object, node: str | None = NODE, driver: str = DRIVER, pool: str = NODE) -> Object:
    """An allocated claim that is reserved for some pods; its allocation names the node unless that is None."""
    allocation: Object = {"devices": {"results": [{"request": "r", "driver": driver, "pool": pool, "device": "d0"}]}}
    if node:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [term]}
    reserved = [{"resource": "pods", "name": u["metadata"]["name"], "uid": u["metadata"]["uid"]} for u in users]
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": SPACE, "uid": f"uid-{name}"},
        "status": {"allocation": allocation, "reservedFor": reserved},
    }


def unallocated(name: str) -> Object:
    """A claim that holds nothing."""
    return {"kind": "ResourceClaim", "metadata": {"name": name, "namespace": SPACE, "uid": f"uid-{name}"}}


def slice_of(pool: str, *, node: str | None = None, devices: tuple[Object, ...] = ({"name": "d0"},)) -> Object:
    """A slice of a pool, of a node's unless that is None."""
    spec: Object = {"driver": DRIVER, "pool": {"name": pool}, "devices": list(devices)}
    spec |= {"nodeName": node} if node else {"perDeviceNodeSelection": True}
    return {"kind": "ResourceSlice", "metadata": {"name": f"slice-{pool}"}, "spec": spec}
