"""A driver makes itself known to the kubelet, again and again."""

from __future__ import annotations

from fixtures import pools
from fixtures.checks import check
from fixtures.driver import Driver


@check(
    "driver.registration.registers",
    level="core",
    source="GP-2",
    hint="answer GetInfo within a second, each time the kubelet asks, and keep the registration socket in place",
    capabilities=("node-shell", "kubelet-restart"),
    disruptive=True,
)
def test_registers(driver: Driver, quiet_node: str) -> None:
    """The driver is registered with the kubelet of each node in time, and again after a kubelet restart."""
    for node in driver.nodes:
        driver.await_registered(node)
    driver.restart_kubelet(quiet_node)
    driver.await_registered(quiet_node)
    pools.await_complete(driver)
