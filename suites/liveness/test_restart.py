"""A broken driver is restarted, and heals."""

from __future__ import annotations

from fixtures import pools
from fixtures.checks import check
from fixtures.driver import Driver
from fixtures.injuries import freeze
from fixtures.outcomes import expect
from fixtures.probes import await_restart, restart_bound


@check(
    "liveness.restart.hung",
    level="core",
    source="GP-5",
    hint="let the probe's answer depend on the process that serves the DRA socket: call the own sockets in the check",
    capabilities=("node-shell",),
    disruptive=True,
)
def test_hung(driver: Driver) -> None:
    """A driver that hangs is restarted in the time that its probe's numbers promise, and is registered again."""
    node = driver.nodes[0]
    bound = restart_bound(driver.pods(node)[0], driver.instance.container, driver.timeouts["driver_start"])
    expect(bound is not None, "a liveness probe that restarts a hung driver", "no liveness probe")
    await_restart(driver, freeze(driver, node), within=bound or 0)
    driver.await_registered(node)
    pools.await_complete(driver)
