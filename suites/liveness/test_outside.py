"""A driver that does not run as a pod is restarted by whatever runs it."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.driver import pools
from fixtures.driver.disruptions import remove_socket
from fixtures.liveness.service import OutsideDriver
from fixtures.workload.leaks import no_device_leaked


@check(
    "liveness.outside.supervised",
    level="extended",
    source="GP-5a",
    hint="Type=notify with WatchdogSec, fed only while the health check is good, and Restart=on-failure",
    capabilities=("node-shell",),
    disturbs="node",
    fake=True,
)
def test_supervised(outside_driver: OutsideDriver) -> None:
    """A driver that runs as a systemd service is restarted when its health check fails, and when it hangs."""
    driver = outside_driver
    before = driver.supervision()
    remove_socket(driver, driver.node, "service")
    driver.await_restart(before)
    before = driver.supervision()
    driver.hang()
    driver.await_restart(before)
    driver.await_registered(driver.node)
    pools.await_complete(driver)
    no_device_leaked(driver, driver.workloads)
