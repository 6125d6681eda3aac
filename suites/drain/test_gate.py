"""The gate between a drained node and the end of its driver.

A gate is whatever decides that a driver may leave a node: a person with a tool, a vendor's operator, automation of the
cluster. What it has to ask is one function, `fixtures.drain.predicate.holders`; its truth is checked here against the
objects that a real cluster makes of each kind of claim. Gates that are at work in the cluster, such as an operator that
comes with the driver, cannot be asked; so they are watched: on a cordoned node the driver has to stay as long as the
predicate is false. Where there is no such gate the driver stays anyway.
"""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.cluster.handle import ClusterHandle
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.drain_checks.cases import FOREIGN, every_case
from fixtures.drain_checks.gate import await_gone_from, await_held, cordoned, held, stays_on
from fixtures.drain_checks.order import stays_until_gone
from fixtures.drain_checks.timings import DRIVER_STAYS
from fixtures.drain_checks.ways import Drains
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.workloads import Workloads


@check(
    "drain.gate.predicate",
    level="core",
    source="GP-6a",
    hint="let the gate ask ResourceClaims, not pods: any that is allocated for the node keeps the driver "
    "(fixtures/drain/predicate.py)",
    disturbs="node",
)
def test_predicate(
    driver: Driver, workloads: Workloads, quiet_node: QuietNode, cluster: ClusterHandle, check_run: CheckRun
) -> None:
    """Any kind of claim on a node, used or not, keeps the driver there; finished pods and strangers' claims do not."""
    node = quiet_node.name
    claims = every_case(driver, workloads, node)
    if not claims.extended:
        check_run.note(
            "No extended resources backed by claims in this cluster (before Kubernetes 1.36): case left out."
        )
    await_held(driver, node, *claims.of_pods, *claims.others)
    strangers = [*held(driver, cluster.workers[0].name), *held(driver, node, of=FOREIGN)]
    only = [f"claim {driver.namespace}/foreign of {FOREIGN}, allocated, reserved for nobody"]
    expect(list(map(str, strangers)) == only, f"elsewhere, and of another driver, just {only[0]}", strangers)
    with cordoned(driver, node):
        workloads.delete("sharer")
        workloads.await_gone("sharer")
        workloads.delete("mixed")
        left = await_held(driver, node, *claims.of_pods, *claims.others)
        users = {user for holder in left for user in holder.users if user.startswith("pod")}
        leaving = f"pod {driver.namespace}/mixed (Terminating)"
        expect(leaving in users, f"claims in use by {leaving}", ", ".join(sorted(users)))
        stays_until_gone(driver, node, ["mixed"])
        await_held(driver, node, *claims.others)
        stays_on(driver, node, DRIVER_STAYS, "a claim for an extended resource and an unused one are there")
        if claims.extended:
            workloads.delete("extended")
            await_held(driver, node, claims.unused)
            stays_on(driver, node, DRIVER_STAYS, "an unused claim is there")
        workloads.drop_claim(claims.unused)
        await_held(driver, node)
    no_device_leaked(driver, workloads)


@check(
    "drain.gate.ends",
    level="extended",
    source="GP-6",
    hint="nothing may bring the driver back on a node that let it go: look for what restores node labels or taints",
    disturbs="node",
)
def test_ends(driver: Driver, workloads: Workloads, quiet_node: QuietNode, drains: Drains) -> None:
    """Once the last claim of a drained node is gone, and not before, the driver can be removed there, and stays away.

    The product's own drain lets it go, by the label of the node that it selects.
    """
    node, release = quiet_node.name, quiet_node.release
    workloads.template("single")
    workloads.pod("slow", templates={"device": "single"}, node=node, linger=4)
    workloads.await_running("slow")
    let_go = drains.own("--driver", driver.name, "--release", release)
    with drains.draining(node, let_go) as drain:
        stays_until_gone(driver, node, ["slow"])
        drain.await_end()
        await_gone_from(driver, node, DRIVER_STAYS)
    quiet_node.label()
    driver.await_up()
    no_device_leaked(driver, workloads)
