"""What a driver publishes about its devices."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect, inconclusive
from fixtures.driver import pools
from fixtures.driver.driver import Driver


@check(
    "driver.slices.published",
    level="core",
    source="GP-2",
    hint="publish all slices of a pool with one generation and their number, and delete outdated ones",
)
def test_published(driver: Driver) -> None:
    """Each node with the driver has a complete pool: one generation, one count, as many slices as it says."""
    pools.await_complete(driver)


@check(
    "driver.slices.pool-per-node",
    level="core",
    source="GP-2",
    hint="name the pool after the node: for the scheduler equal driver, pool and device name are one device",
)
def test_pool_per_node(driver: Driver) -> None:
    """A node-local pool belongs to one node, and device ids are unique in the cluster."""
    if len(driver.nodes) < 2:
        inconclusive("needs two nodes with the driver")
    problems = pools.shared_between_nodes(driver.slices())
    expect(not problems, "each pool on one node, each device id once", "; ".join(problems))
