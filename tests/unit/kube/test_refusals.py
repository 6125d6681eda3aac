"""Whether rights or policies refused a request."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from fixtures.kube.api import Refused
from fixtures.kube.refusals import by_admission


@pytest.mark.parametrize(
    ("message", "admission"),
    [
        ('pods "p" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2', True),
        ('pods "p" is forbidden: failed quota: cpu: must specify limits.cpu for: main', True),
        ('pods "p" is forbidden: violates PodSecurity "restricted:latest": privileged', True),
        ('pods "p" is forbidden: [maximum cpu usage per Container is 1, but limit is 2]', True),
        ('admission webhook "v.kyverno.svc" denied the request: label team is required', True),
        ("ValidatingAdmissionPolicy 'team' with binding 'all' denied request: label team is required", True),
        ('pods is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "n"', False),
        ('pods "p" is forbidden: error looking up service account n/default: not found', False),
    ],
)
def test_policies_are_told_from_rights(message: str, admission: bool) -> None:
    body = json.dumps({"message": message})
    error = Refused(SimpleNamespace(status=403, reason="Forbidden", body=body, headers={}))  # type: ignore[no-untyped-call]
    assert by_admission(error) == admission
