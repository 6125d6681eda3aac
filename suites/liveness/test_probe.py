"""The driver's health answer is used, and true."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.driver import Driver
from fixtures.liveness.probe_results import SOCKET_DISRUPTIONS, unnoticed
from fixtures.liveness.probes import liveness_problems


@check(
    "liveness.probe.declared",
    level="core",
    source="GP-5",
    hint="serve grpc.health.v1 and name its port as livenessProbe of the container that serves the DRA socket",
    capabilities=("node-shell",),
)
def test_declared(driver: Driver) -> None:
    """Each container that serves a DRA socket has a liveness probe on a port that is served."""
    problems = liveness_problems(driver)
    expect(not problems, "a liveness probe on a served port", "; ".join(problems))


@check(
    "liveness.probe.truthful",
    level="core",
    source="GP-5",
    hint="in the health check call GetInfo on the registration socket and, without claims, the DRA socket, by path",
    capabilities=("node-shell",),
    disturbs="node",
)
def test_truthful(driver: Driver) -> None:
    """The health answer turns bad when the DRA socket or the registration socket is gone, and when one hangs."""
    problems = unnoticed(driver, SOCKET_DISRUPTIONS)
    expect(not problems, "a bad health answer while a socket is gone or hangs", "; ".join(problems))
