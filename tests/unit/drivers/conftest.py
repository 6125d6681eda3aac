"""A chart, and in the place of helm a script that fills its text in: what is tested is what is asked of helm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HELM = """\
#!/bin/sh
[ -d "$3" ] || { echo "Error: there is no chart $3" >&2; exit 1; }
case "$1 $2" in
"show chart") cat "$3/Chart.yaml";;
"show values") cat "$3/values.yaml";;
*)
    name=gpu.example.com
    for word in "$@"; do
        case "$word" in
        driverName=*) name="${word#driverName=}";;
        broken=*) echo "Error: at <.Values.broken>: wrong type" >&2; exit 1;;
        esac
    done
    sed "s/gpu\\.example\\.com/$name/g; s/RELEASE/$2/g; s/SPACE/$5/g" "$3/rendered.yaml";;
esac
"""
CHART = """\
name: example-driver
version: 0.1.0
appVersion: v1.2.0
home: https://github.com/example-org/example-driver
"""
RENDERED = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: RELEASE-account, namespace: SPACE, labels: }
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: RELEASE-webhook, namespace: SPACE}
spec: {template: {spec: {containers: [{name: webhook, image: r.example.com/webhook:v1.2.0}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: RELEASE-plugin, namespace: SPACE}
spec:
  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    spec:
      serviceAccountName: RELEASE-account
      nodeSelector: {kubernetes.io/os: linux, example.com/gpu: "true"}
      tolerations: [{key: example.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: plugin
          image: r.example.com/plugin:v1.2.0
          env: [{name: DRIVER_NAME, value: gpu.example.com}]
          ports: [{name: metrics, containerPort: 8080}]
          volumeMounts: [{name: plugins, mountPath: /var/lib/kubelet/plugins}]
      volumes: [{name: plugins, hostPath: {path: /var/lib/kubelet/plugins}}]
"""


@pytest.fixture
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a chart; what is in `rendered.yaml` is what it renders."""
    directory, tools = tmp_path / "example-driver", tmp_path / "tools"
    for made in (directory, tools):
        made.mkdir()
    (tools / "helm").write_text(HELM)
    (tools / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    (directory / "Chart.yaml").write_text(CHART)
    (directory / "values.yaml").write_text('image: {tag: ""}\ndriverName: ""\n')
    (directory / "rendered.yaml").write_text(RENDERED)
    return directory
