"""A driver makes itself known to the kubelet, again and again."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.driver import pools
from fixtures.driver.disruptions import restart_kubelet
from fixtures.driver.driver import Driver


@check(
    "driver.registration.registers",
    level="core",
    source="GP-2",
    hint="answer GetInfo within a second, each time the kubelet asks, and keep the registration socket in place",
    capabilities=("node-shell", "kubelet-restart"),
    disturbs="node",
)
def test_registers(driver: Driver, quiet_node: QuietNode) -> None:
    """The driver is registered with the kubelet of each node in time, and again after a kubelet restart."""
    for node in driver.nodes:
        driver.await_registered(node)
    restart_kubelet(driver, quiet_node.name)
    driver.await_registered(quiet_node.name)
    pools.await_complete(driver)
