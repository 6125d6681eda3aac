"""A broken driver is restarted, and heals; one that nothing ails is left alone."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.cluster.nodes.quiet import QuietNode
from fixtures.driver import pools
from fixtures.driver.disruptions import freeze, kill, remove_socket, restart_kubelet
from fixtures.driver.driver import Driver
from fixtures.driver.sockets import await_socket
from fixtures.liveness.probes import await_ready, await_restart, promise
from fixtures.liveness.steadiness import burden, steadiness
from fixtures.workload.leaks import no_device_leaked
from fixtures.workload.pod_state import losses, pod_state
from fixtures.workload.workloads import Workloads


@check(
    "liveness.restart.hung",
    level="core",
    source="GP-5",
    hint="let the probe's answer depend on the process that serves the DRA socket: call the own sockets in the check",
    capabilities=("node-shell",),
    disturbs="node",
)
def test_hung(driver: Driver, workloads: Workloads) -> None:
    """A driver that hangs is restarted in the time that its probe's numbers promise, and is registered again."""
    node = driver.nodes[0]
    promised = promise(driver, node)
    await_restart(driver, freeze(driver, node), within=promised.back)
    driver.await_registered(node)
    pools.await_complete(driver)
    no_device_leaked(driver, workloads)


@check(
    "liveness.restart.crashed",
    level="core",
    source="GP-5b",
    hint="at the start remove the sockets that a killed predecessor has left; nothing else does",
    capabilities=("node-shell",),
    disturbs="node",
)
def test_crashed(driver: Driver, workloads: Workloads) -> None:
    """A driver that is killed is back in the time that it takes to start, registered, with complete pools."""
    node = driver.nodes[0]
    await_restart(driver, kill(driver, node), within=driver.timeouts["driver_start"])
    driver.await_registered(node)
    pools.await_complete(driver)
    no_device_leaked(driver, workloads)


@check(
    "liveness.restart.socket-lost",
    level="core",
    source="GP-5",
    hint="in the health check call the DRA socket by its path: the own process still holds what nobody can find",
    capabilities=("node-shell",),
    disturbs="node",
)
def test_socket_lost(driver: Driver, workloads: Workloads) -> None:
    """A driver whose DRA socket is removed has one again in the time that its probe's numbers promise, and serves."""
    node = driver.nodes[0]
    promised = promise(driver, node)
    remove_socket(driver, node, "service")
    await_socket(driver, node, "service", within=promised.back)
    await_ready(driver, node)
    driver.await_registered(node)
    pools.await_complete(driver)
    no_device_leaked(driver, workloads)


@check(
    "liveness.restart.pods-untouched",
    level="core",
    source="GP-5b",
    hint="what is prepared has to outlive the driver's process: keep state and CDI files on disk, touch no device",
    capabilities=("node-shell",),
    disturbs="node",
)
def test_pods_untouched(driver: Driver, workloads: Workloads) -> None:
    """Pods that run do not notice that their driver hangs and is restarted, and pods that wait for it start."""
    node = driver.nodes[0]
    workloads.template("single")
    workloads.pod("holder", templates={"device": "single"}, node=node)
    workloads.await_running("holder")
    before = pod_state(driver, workloads, "holder")
    promised = promise(driver, node)
    hung = freeze(driver, node)
    workloads.pod("waiter", templates={"device": "single"}, node=node)
    await_restart(driver, hung, within=promised.back)
    lost = losses("holder", before, pod_state(driver, workloads, "holder")) if before else ["holder was gone before"]
    expect(not lost, "a pod that runs keeps its containers and its devices", "; ".join(lost))
    workloads.await_running("waiter")
    no_device_leaked(driver, workloads)


@check(
    "liveness.restart.not-spurious",
    level="core",
    source="GP-5b",
    hint="give the probe time (the usual is 10 s, three times), and let its answer depend on the own sockets only",
    capabilities=("node-shell", "kubelet-restart"),
    disturbs="node",
)
def test_not_spurious(driver: Driver, workloads: Workloads, quiet_node: QuietNode) -> None:
    """A driver is not restarted under load, when it is held up for some seconds, or when the kubelet restarts."""
    node = quiet_node.name
    promised = promise(driver, node)
    watch = steadiness(driver)
    pods = burden(workloads, node)
    watch.through_stall(node)
    watch.await_all_ran(workloads, pods)
    restart_kubelet(driver, node)
    watch.last(promised.ended + promised.period)
    driver.await_registered(node)
    no_device_leaked(driver, workloads)
