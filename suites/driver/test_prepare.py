"""What containers see of the devices that their pod was allocated."""

from __future__ import annotations

from fixtures.check.decorator import check
from fixtures.check.outcomes import expect
from fixtures.kube.allocations import devices_of
from fixtures.workload.workloads import Workloads


@check(
    "driver.prepare.device-visible",
    level="core",
    source="GP-2",
    hint="compare the CDI spec of the claim with its allocation result; is CDI on in the container runtime?",
)
def test_device_visible(workloads: Workloads) -> None:
    """The container really has its device, and the one that was allocated."""
    workloads.template("single")
    workloads.pod("holder", templates={"device": "single"})
    workloads.await_running("holder")
    allocated = devices_of(workloads.claims_of("holder")["device"])
    wanted = {workloads.proof_of(device) for device in allocated}
    seen = workloads.seen_devices("holder")
    expect(seen == wanted, f"the container sees {sorted(wanted)}", f"it sees {sorted(seen)}")


@check(
    "driver.prepare.isolation",
    level="core",
    source="GP-2",
    hint="name the requests of each prepared device in the answer to NodePrepareResources",
)
def test_isolation(workloads: Workloads) -> None:
    """A pod without a claim sees no device, and a container sees only what its own requests were given."""
    workloads.template("pair", requests=("left", "right"))
    workloads.pod("plain")
    workloads.pod(
        "holder",
        templates={"pair": "pair"},
        containers={"left": ["pair/left"], "right": ["pair/right"], "neither": []},
    )
    workloads.await_running("plain")
    workloads.await_running("holder")
    claim = workloads.claims_of("holder")["pair"]
    seen = {("plain", "main"): workloads.seen_devices("plain")}
    own: dict[tuple[str, str], set[str]] = {}
    for container in ("left", "right", "neither"):
        seen["holder", container] = workloads.seen_devices("holder", container)
        own["holder", container] = {workloads.proof_of(device) for device in devices_of(claim, container)}
    foreign = {who: devices - own.get(who, set()) for who, devices in seen.items() if devices - own.get(who, set())}
    expect(
        not foreign,
        "no container sees a device that its requests were not given",
        "; ".join(f"{pod}/{container} sees {sorted(devices)}" for (pod, container), devices in foreign.items()),
    )
