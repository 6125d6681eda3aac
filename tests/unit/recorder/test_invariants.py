"""The recorder's invariants: each is broken by a short story, and no healthy story breaks one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from fixtures.kube.allocations import Device
from fixtures.recorder.facts import ClaimFacts, EventFacts, Facts, NodeFacts, PodFacts, SliceFacts
from fixtures.recorder.invariants import FINALIZER, RESERVATION_GRACE, Invariants, Violation
from fixtures.recorder.seen import Seen

DEVICE = Device("x.dra", "node-1", "device-0")
OTHER = Device("x.dra", "node-1", "device-1")


def claim(name: str, *devices: Device, reserved: Iterable[str] = (), change: str = "MODIFIED", at: float = 0) -> Seen:
    facts = ClaimFacts(bool(devices), devices, tuple(reserved), (FINALIZER,) if devices else ())
    return _seen("ResourceClaim", change, name, facts, at, "ns")


def pool_slice(
    name: str, generation: int, count: int = 1, *, node: str = "node-1", driver: str = "x.dra", change: str = "MODIFIED"
) -> Seen:
    return _seen("ResourceSlice", change, name, SliceFacts(driver, node, node, generation, count, 4), 0, None)


def pod(name: str, change: str, at: float = 0) -> Seen:
    return _seen("Pod", change, name, PodFacts("Running", ready=True, node="node-1"), at, "ns")


def _seen(kind: str, change: str, name: str, facts: Facts, at: float, namespace: str | None) -> Seen:
    return Seen(at, kind, change, namespace, name, f"uid-{name}", terminating=False, facts=facts)


def broken_by(*lines: Seen) -> list[Violation]:
    invariants = Invariants()
    return [violation for line in lines for violation in invariants.add(line)]


def test_a_device_in_two_claims_at_once_is_told_with_both_claims() -> None:
    (violation,) = broken_by(claim("a", DEVICE), claim("b", DEVICE, at=7))
    assert violation == Violation(
        7, "ns", ("x.dra",), "claim ns/b holds device x.dra/node-1/device-0, which claim ns/a holds too"
    )


def test_a_device_may_be_handed_over_once_its_claim_is_deallocated() -> None:
    assert not broken_by(claim("a", DEVICE), claim("a"), claim("b", DEVICE))


def test_a_device_may_be_handed_over_once_its_claim_is_deleted() -> None:
    assert not broken_by(claim("a", DEVICE), claim("a", DEVICE, change="DELETED"), claim("b", DEVICE))


def test_a_claim_that_changes_while_it_holds_a_device_is_not_in_its_own_way() -> None:
    assert not broken_by(claim("a", DEVICE), claim("a", DEVICE, reserved=["p"]), claim("a", DEVICE, OTHER))


def test_the_same_device_name_on_another_node_is_another_device() -> None:
    assert not broken_by(claim("a", DEVICE), claim("b", Device("x.dra", "node-2", "device-0")))


def test_a_device_that_was_wrongly_held_twice_is_free_when_both_let_go() -> None:
    lines = [claim("a", DEVICE), claim("b", DEVICE), claim("a"), claim("b"), claim("c", DEVICE)]
    assert len(broken_by(*lines)) == 1


def test_an_allocated_claim_needs_its_finalizer() -> None:
    line = replace(claim("a", DEVICE), facts=ClaimFacts(allocated=True, finalizers=("something/else",)))
    (violation,) = broken_by(line)
    assert violation.text == f"claim ns/a is allocated without the finalizer {FINALIZER}"


def test_a_claim_without_an_allocation_needs_no_finalizer() -> None:
    assert not broken_by(claim("a", change="ADDED"))


def test_a_reservation_may_outlive_its_pod_only_for_a_while() -> None:
    invariants = Invariants()
    invariants.add(claim("a", DEVICE, reserved=["uid-p"]))
    invariants.add(pod("p", "DELETED", at=100))
    assert not invariants.tick(100 + RESERVATION_GRACE)
    (violation,) = invariants.tick(101 + RESERVATION_GRACE)
    assert violation.text == "claim ns/a is reserved for a pod that is gone for 60 s"
    assert not invariants.tick(200 + RESERVATION_GRACE), "each violation is told once"


def test_a_reservation_that_ends_with_its_pod_is_well() -> None:
    invariants = Invariants()
    invariants.add(claim("a", DEVICE, reserved=["uid-p", "uid-q"]))
    invariants.add(pod("p", "DELETED", at=100))
    invariants.add(claim("a", DEVICE, reserved=["uid-q"]))
    assert not invariants.tick(1000)


def test_a_generation_never_goes_back_within_a_slice() -> None:
    (violation,) = broken_by(pool_slice("s", 3), pool_slice("s", 2))
    assert violation.text == "pool node-1 went back from generation 3 to 2"
    assert violation.drivers == ("x.dra",)


def test_a_new_slice_of_an_older_generation_goes_back() -> None:
    assert len(broken_by(pool_slice("s", 3), pool_slice("t", 2, change="ADDED"))) == 1


def test_slices_of_a_pool_may_move_on_one_after_the_other() -> None:
    steps = [pool_slice(name, generation, 3) for generation in (1, 2, 5) for name in "stu"]
    assert not broken_by(*steps)


def test_a_pool_may_start_again_after_all_its_slices_were_withdrawn() -> None:
    gone = [pool_slice(name, 7, 2, change="DELETED") for name in "st"]
    lines = [pool_slice("s", 7, 2), pool_slice("t", 7, 2), *gone, pool_slice("u", 1, change="ADDED")]
    assert not broken_by(*lines)


def test_a_pool_that_still_has_a_slice_may_not_start_again() -> None:
    lines = [pool_slice("s", 7), pool_slice("t", 7), pool_slice("s", 7, change="DELETED"), pool_slice("u", 1)]
    assert len(broken_by(*lines)) == 1


def test_a_touched_slice_of_an_old_generation_is_no_step_back() -> None:
    assert not broken_by(pool_slice("s", 1), pool_slice("t", 2), pool_slice("s", 1))


def test_the_slices_of_one_generation_agree_on_their_number() -> None:
    (violation,) = broken_by(pool_slice("s", 1, 2), pool_slice("t", 1, 3))
    assert violation.text == "slices of pool node-1, generation 1, disagree on their number: [2, 3]"


def test_the_number_may_change_with_the_generation() -> None:
    assert not broken_by(pool_slice("s", 1, 1), pool_slice("t", 2, 2), pool_slice("s", 2, 2))


@pytest.mark.parametrize("change", [{"node": "node-2"}, {"driver": "y.dra"}])
def test_pools_of_other_nodes_and_drivers_are_judged_apart(change: dict[str, str]) -> None:
    assert not broken_by(pool_slice("s", 5, 2), pool_slice("t", 1, 1, **change))


def test_the_same_fault_of_another_driver_is_told_too() -> None:
    stories = [(pool_slice(f"{d}-s", 2, driver=d), pool_slice(f"{d}-s", 1, driver=d)) for d in ("x.dra", "y.dra")]
    assert [v.drivers for v in broken_by(*itertools.chain(*stories))] == [("x.dra",), ("y.dra",)]


def test_each_violation_is_told_once() -> None:
    line = claim("b", DEVICE)
    assert len(broken_by(claim("a", DEVICE), line, line, line)) == 1


def test_kinds_without_an_invariant_are_passed_over() -> None:
    assert not broken_by(
        _seen("Event", "ADDED", "e", EventFacts(reason="x"), 0, "ns"), _seen("Node", "ADDED", "n", NodeFacts(), 0, None)
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_changes_makes_the_recorder_stumble(seed: int) -> None:
    """Whatever is seen, in whatever order: violations, never an exception, and each only once."""
    dice = random.Random(seed)
    invariants = Invariants()
    told: list[Violation] = []
    for at in range(300):
        name, change = f"o{dice.randrange(5)}", dice.choice(["ADDED", "MODIFIED", "DELETED"])
        devices = dice.sample([DEVICE, OTHER], dice.randrange(3))
        line = dice.choice(
            [
                claim(name, *devices, reserved=[f"uid-o{dice.randrange(5)}"], change=change, at=at),
                pool_slice(name, dice.randrange(3), dice.randrange(3), node=dice.choice("ab"), change=change),
                pod(name, change, at=at),
            ]
        )
        told += invariants.add(line)
        told += invariants.tick(at)
    assert told
    assert len({(violation.drivers, violation.text) for violation in told}) == len(told)


@pytest.mark.parametrize("seed", range(20))
def test_no_healthy_history_breaks_an_invariant(seed: int) -> None:
    """Claims that take only free devices and give them back, pools that only move on: in any order, no alarm."""
    dice = random.Random(seed)
    invariants = Invariants()
    free = [Device("x.dra", "node-1", f"device-{number}") for number in range(3)]
    held: dict[str, Device] = {}
    generation = 0
    for at in range(300):
        deed = dice.choice(["take", "give", "delete", "publish", "withdraw"])
        lines: list[Seen] = []
        if deed == "take" and free:
            held[f"c{at}"] = free.pop(dice.randrange(len(free)))
            lines = [claim(f"c{at}", held[f"c{at}"], reserved=[f"uid-p{at}"], at=at)]
        elif deed in ("give", "delete") and held:
            name = dice.choice(list(held))
            lines = [pod(name.replace("c", "p"), "DELETED", at=at)]
            lines.append(claim(name, at=at) if deed == "give" else claim(name, held[name], change="DELETED", at=at))
            free.append(held.pop(name))
        elif deed == "publish":
            generation += 1
            lines = [pool_slice(name, generation, 2) for name in "st"]
        elif deed == "withdraw" and generation:
            lines = [pool_slice(name, generation, 2, change="DELETED") for name in "st"]
            generation = 0
        assert not [violation for line in lines for violation in invariants.add(line)]
        assert not invariants.tick(at)
