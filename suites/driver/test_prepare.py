"""What containers see of the devices that their pod was allocated."""

from __future__ import annotations

from collections.abc import Set

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect, inconclusive
from fixtures.driver.check_run import CheckRun
from fixtures.workload.control import WEAKER, Control, control_on, has_room_for_another
from fixtures.workload.proofs import proofs_of, proofs_of_all, same_for_all, seen_devices
from fixtures.workload.workloads import Workloads


@check(
    "driver.prepare.device-visible",
    level="core",
    source="GP-2",
    hint="compare the CDI spec of the claim with its allocation result; is CDI on in the container runtime? is `proof` "
    "in the driver's manifest right?",
)
def test_device_visible(check_run: CheckRun, workloads: Workloads) -> None:
    """The container really has its device, and the one that was allocated."""
    workloads.template("single")
    workloads.pod("holder", templates={"device": "single"})
    node = workloads.await_running("holder")["spec"]["nodeName"]
    control = control_on(workloads, node)
    if workloads.instance.manifest.proof is None:
        check_run.note(WEAKER)
        _differs(check_run, workloads, control, node)
        return
    _tells_apart(workloads, node)
    wanted = proofs_of(workloads, workloads.claims_of("holder")["device"])
    if common := wanted & control.seen:
        inconclusive(f"the manifest's `proof` shows {sorted(common)} in containers without a claim, too")
    seen = seen_devices(workloads, "holder") - control.seen
    hint = "" if seen == wanted else control.hint("holder")
    expect(seen == wanted, f"the container sees {sorted(wanted)}", f"it sees {sorted(seen)}", hint)


def _tells_apart(workloads: Workloads, node: str) -> None:
    if text := same_for_all(workloads, node):
        inconclusive(f"the manifest's `proof` is the same for all devices of {node}: {text}")


def _differs(check_run: CheckRun, workloads: Workloads, control: Control, node: str) -> None:
    there = control.additions("holder")
    same = "they have the same variables, files under /dev, mounts, network links and CPUs"
    expect(there, "a container with a device differs from containers without", same)
    if not has_room_for_another(workloads, node):
        check_run.note("no two claims fit on a node: that containers with different devices differ was not tried")
        return
    workloads.pod("second", templates={"device": "single"}, node=node)
    workloads.await_running("second")
    expect(
        there != control.additions("second"),
        "containers with different devices differ from each other",
        f"both differ from those without a claim just in {'; '.join(sorted(there))}",
    )


@check(
    "driver.prepare.isolation",
    level="core",
    source="GP-2",
    hint="name the requests of each prepared device in the answer to NodePrepareResources",
)
def test_isolation(check_run: CheckRun, workloads: Workloads) -> None:
    """A pod without a claim sees no device, and a container sees only what its own requests were given."""
    workloads.template("pair", requests=("left", "right"))
    workloads.pod(
        "holder",
        templates={"pair": "pair"},
        containers={"left": ["pair/left"], "right": ["pair/right"], "neither": []},
    )
    node = workloads.await_running("holder")["spec"]["nodeName"]
    control = control_on(workloads, node)
    if workloads.instance.manifest.proof is None:
        check_run.note(WEAKER)
        _differ_in_a_pod(control)
        return
    _tells_apart(workloads, node)
    claim = workloads.claims_of("holder")["pair"]
    of_devices = proofs_of_all(workloads, claim)
    seen: dict[tuple[str, str], Set[str]] = {("a pod without a claim", "main"): control.seen & of_devices}
    own: dict[tuple[str, str], set[str]] = {}
    for container in ("left", "right", "neither"):
        seen["holder", container] = seen_devices(workloads, "holder", container) - (control.seen - of_devices)
        own["holder", container] = proofs_of(workloads, claim, container)
    foreign = {who: devices - own.get(who, set()) for who, devices in seen.items() if devices - own.get(who, set())}
    expect(
        not foreign,
        "no container sees a device that its requests were not given",
        "; ".join(f"{pod}/{container} sees {sorted(devices)}" for (pod, container), devices in foreign.items()),
    )
    if common := own["holder", "left"] & own["holder", "right"]:
        inconclusive(f"the manifest's `proof` is the same for both requests of a claim: {', '.join(sorted(common))}")


def _differ_in_a_pod(control: Control) -> None:
    left, right, neither = (control.additions_of_its_own("holder", name) for name in ("left", "right", "neither"))
    expect(not neither, "a container whose pod has a claim that it does not use is as one without", sorted(neither))
    if not left | right:
        inconclusive("without a `proof`: nothing but the network, which a pod has as a whole, differs by a claim")
    expect(left != right, "containers with different devices differ from each other", f"both have {sorted(left)}")
