"""A driver runs on every node: what it may do there, a thief of its token may do, too."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect, inconclusive
from fixtures.driver.check_run import CheckRun
from fixtures.driver.driver import Driver
from fixtures.kube.discovery import Served
from fixtures.rbac.personas import claim_status, driver_rights, slices
from fixtures.rbac.personas.attempts import refused
from fixtures.rbac.personas.identities import driver_nowhere, driver_on
from fixtures.workload.workloads import Workloads

Api = tuple[Served, ...]


@check(
    "rbac.driver.required",
    level="core",
    source="GP-1a",
    hint="give the driver's role: get resourceclaims; get, list, watch, create, update, patch, delete resourceslices; "
    "get nodes",
)
def test_required(check_run: CheckRun, driver: Driver, api: Api) -> None:
    """The driver's ServiceAccount has what a driver needs on this version."""
    itself = driver_on(driver, driver.nodes[0])
    check_run.note(f"The driver: {itself.how}.")
    missing = driver_rights.lacks(itself, api)
    expect(not missing, "the driver can read claims and write slices", f"refused: {', '.join(missing)}")
    unused = refused(itself.kube, driver_rights.helpful())
    if unused:
        check_run.note(f"Not granted, though Kubernetes' helper for drivers uses it: {', '.join(unused)}.")


@check(
    "rbac.driver.least-privilege",
    level="core",
    source="GP-1a",
    hint="give the driver a role of its own, with claims to read, slices to write and nothing else",
)
def test_least_privilege(check_run: CheckRun, driver: Driver, api: Api) -> None:
    """The driver reads no secrets, makes no pods, writes no DeviceClasses and claims, and binds nothing."""
    itself = driver_on(driver, driver.nodes[0])
    check_run.note(f"The driver: {itself.how}.")
    excessive = driver_rights.excessive(itself, api)
    expect(not excessive, "what a driver does not need is refused", f"granted: {', '.join(excessive)}")
    more = driver_rights.tolerated(itself)
    if more:
        check_run.note(f"Granted beyond need, as known drivers do: {', '.join(more)}.")


@check(
    "rbac.driver.own-node-slices",
    level="core",
    source="GP-1a",
    hint="ship a ValidatingAdmissionPolicy that compares the node in the driver's token with the slice's nodeName, "
    "and names the ServiceAccount that the pods really have",
)
def test_own_node_slices(check_run: CheckRun, driver: Driver, api: Api) -> None:
    """With a token bound to its pod the driver can write slices of that pod's node, and none of another node."""
    if len(driver.nodes) < 2:
        inconclusive("needs two nodes with the driver")
    own, other = driver.nodes[:2]
    itself, unbound = driver_on(driver, own), driver_nowhere(driver)
    check_run.note(f"The driver: {itself.how}; {unbound.how}.")
    for version in slices.versions(api):
        tried = slices.of_node(itself, check_run.kube, version, driver.name, own)
        mine = slices.done(tried)
        stopped = "; ".join(f"{verb}: {answer}" for verb, answer in tried.items())
        expect("create" in mine and {"update", "patch"} & set(mine), f"{version}: own slices can be written", stopped)
        theirs = slices.done(slices.of_node(itself, check_run.kube, version, driver.name, other))
        expect(not theirs, f"{version}: slices of another node cannot be written", f"granted: {', '.join(theirs)}")
        common = slices.done(slices.of_node(itself, check_run.kube, version, driver.name, None))
        expect(not common, f"{version}: slices for all nodes cannot be written", f"granted: {', '.join(common)}")
        nowhere = slices.done(slices.of_node(unbound, check_run.kube, version, driver.name, own))
        expect(not nowhere, f"{version}: a token that names no node writes nothing", f"granted: {', '.join(nowhere)}")


@check(
    "rbac.driver.own-claims-status",
    level="extended",
    source="GP-1a",
    hint="grant associated-node:update and associated-node:patch on resourceclaims/driver, restricted by resourceNames "
    "to the driver's name; never arbitrary-node",
    since="1.36",
)
def test_own_claims_status(check_run: CheckRun, driver: Driver, workloads: Workloads, api: Api) -> None:
    """Of claims' status the driver writes devices only, in its own name, and on the node in its token only."""
    claim_status.needs_finer_rights(check_run.kube)
    if len(driver.nodes) < 2:
        inconclusive("needs two nodes with the driver")
    workloads.template("single")
    for name, node in zip(("own", "foreign"), driver.nodes, strict=False):
        workloads.pod(name, templates={"device": "single"}, node=node)
    for name in ("own", "foreign"):
        workloads.await_running(name)
    own, foreign = (workloads.claims_of(name)["device"] for name in ("own", "foreign"))
    itself = driver_on(driver, driver.nodes[0])
    check_run.note(f"The driver: {itself.how}.")
    versions = claim_status.versions(api)
    trespasses = claim_status.trespasses(itself, own, foreign, versions)
    expect(not trespasses, "what is not the driver's own is refused", f"granted: {', '.join(trespasses)}")
    answers = {version: claim_status.writes_devices(itself, own, version) for version in versions}
    if not any(answer.granted for answer in answers.values()):
        check_run.note("This driver may not write claims' status at all.")
        return
    stopped = "; ".join(f"{version}: {answer}" for version, answer in answers.items() if not answer.done)
    expect(not stopped, "who may write claims' status may write status.devices of own claims", stopped)
