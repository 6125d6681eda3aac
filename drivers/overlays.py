"""What saboteurs use to change a driver's manifests: an overlay takes an installation's objects and returns them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"


def daemon_sets(objects: list[Object]) -> Iterator[Object]:
    """The DaemonSets among some objects."""
    yield from (item for item in objects if item["kind"] == "DaemonSet")


def containers(objects: list[Object]) -> Iterator[Object]:
    """The containers of the DaemonSets among some objects."""
    for item in daemon_sets(objects):
        yield from item["spec"]["template"]["spec"]["containers"]


def meddler(objects: list[Object], deed: str, rules: list[Object]) -> list[Object]:
    """A Deployment that runs one of `drivers.fake.meddlers` next to the driver, with the rights it needs."""
    driver = next(daemon_sets(objects))
    template = driver["spec"]["template"]["spec"]
    name, namespace = f"{driver['metadata']['name']}-meddler", driver["metadata"]["namespace"]
    where = [namespace, driver["metadata"]["name"], json.dumps(template.get("nodeSelector", {}))]
    labels = {"app": name}
    pod = {
        "serviceAccountName": name,
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "volumes": [volume for volume in template["volumes"] if "configMap" in volume],
        "containers": [
            {
                "name": "meddler",
                "image": template["containers"][0]["image"],
                "imagePullPolicy": "IfNotPresent",
                "command": ["python3", "-m", "drivers.fake.meddlers", deed, *where],
                "env": [e for e in template["containers"][0]["env"] if e["name"] == "PYTHONPATH"],
                "startupProbe": {
                    "exec": {"command": ["test", "-e", "/tmp/at-work"]},
                    "periodSeconds": 1,
                    "failureThreshold": 120,
                },
                "volumeMounts": [
                    mount for mount in template["containers"][0]["volumeMounts"] if mount["mountPath"] == "/code"
                ],
            }
        ],
    }
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]
