"""A driver runs on every node that has its devices, and nowhere else."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.driver.driver import Driver
from fixtures.kube.status import is_ready


@check(
    "driver.deployment.placement",
    level="core",
    source="GP-2",
    hint="compare the DaemonSet's nodeSelector and affinity with the labels of the nodes that have devices",
)
def test_placement(driver: Driver) -> None:
    """A Ready driver pod runs on every node that its selector names, and on no other."""
    ready = sorted(pod["spec"]["nodeName"] for pod in driver.pods() if is_ready(pod))
    expect(ready == sorted(driver.nodes), f"Ready driver pods on {sorted(driver.nodes)}", f"on {ready}")
