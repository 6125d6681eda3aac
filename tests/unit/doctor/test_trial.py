"""A device that is not to be seen: does the runtime inject nothing, or is the manifest's proof wrong?"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.doctor import trial
from fixtures.doctor.finding import Finding
from fixtures.workload.workloads import Workloads
from tests.unit.workload.test_proofs import CLAIM, ON_N, Logs, at, log

ENV = {"env": "GPU_.*", "value": "{device}"}


def tried(monkeypatch: pytest.MonkeyPatch, proof: Any, **findings: list[str]) -> tuple[Finding, list[str]]:
    """What the trial says of a node, and the pods that it made there."""
    claim = {**CLAIM, "status": {"allocation": {"devices": {"results": _results()[:1]}}}}
    kube = Logs(ON_N, claim, **{"trial-n": log(**findings)})
    made = at(kube, proof)
    monkeypatch.setattr(Workloads, "await_running", lambda *_: {})
    monkeypatch.setattr(Workloads, "claims_of", lambda *_: {"device-0": claim})
    driver: Any = SimpleNamespace(kube=kube, instance=made.instance, timeouts=made.timeouts, nodes=["n"])
    handle: Any = SimpleNamespace(tolerations=[])
    found = trial.injection(driver, handle)
    return found, [item["metadata"]["name"] for item in kube.created if item["kind"] == "Pod"]


def _results() -> Any:
    return CLAIM["status"]["allocation"]["devices"]["results"]  # type: ignore[index]


def test_a_device_that_is_seen_needs_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    found, pods = tried(monkeypatch, ENV, environment=["PATH=/bin", "GPU_0=x"])
    assert (found.level, found.says) == ("OK", "a pod on each of 1 nodes saw the device that it was given")
    assert pods == ["trial-n"]


@pytest.mark.parametrize("proof", [ENV, None])
def test_a_container_that_is_as_one_without_a_claim_was_injected_nothing(
    monkeypatch: pytest.MonkeyPatch, proof: Any
) -> None:
    found, pods = tried(monkeypatch, proof)
    assert (found.level, found.about) == ("FAIL", "CDI")
    assert found.says == "pods run on n, but have no more by their claim than without"
    assert "enable_cdi" in found.remedy
    assert pods == ["trial-n", "plain-n", "plain-n-too"]


def test_a_container_that_has_something_else_is_a_matter_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = tried(monkeypatch, ENV, environment=["PATH=/bin", "GPUS_0=x"])
    assert (found.level, found.about) == ("FAIL", "proof")
    assert found.says == (
        "on n: x is not to be seen; looked for variables whose names match GPU_.*; "
        "by the claim the container has: variable GPUS_0=x"
    )
    assert "`proof` in the driver's manifest" in found.remedy


def test_without_a_proof_any_difference_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = tried(monkeypatch, None, environment=["PATH=/bin", "GPUS_0=x"])
    assert (found.level, found.says) == ("OK", "a pod on each of 1 nodes had more by its claim than one without")
