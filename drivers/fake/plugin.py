"""Preparing and unpreparing claims, whatever version of the API asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from drivers.fake.cdi import CdiDirectory
from drivers.fake.devices import Inventory
from drivers.fake.faults import Switches
from drivers.fake.kube import Api, Object
from drivers.fake.settings import Settings
from drivers.fake.state import HeldClaim, HeldDevice, Store


class ClaimError(Exception):
    """A claim cannot be prepared; the message is for its event."""


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """A claim as the kubelet names it."""

    uid: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class PreparedDevice:
    """One device in the answer for a claim."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str
    share_id: str | None


class Plugin:
    """Prepares and unprepares. Safe to call from many threads; a slow claim does not hold up others."""

    def __init__(
        self,
        settings: Settings,
        api: Api,
        inventory: Inventory,
        switches: Switches,
        store: Store,
        cdi: CdiDirectory,
    ) -> None:
        self._settings = settings
        self._api = api
        self._inventory = inventory
        self._switches = switches
        self._store = store
        self._cdi = cdi

    def prepare(self, claim: ClaimRef) -> list[PreparedDevice]:
        """Hold the claim's devices and describe them to the container runtime; the same again when repeated.

        Raises ClaimError, ApiError or StateError; nothing is held then that was not held before.
        """
        behaviour = self._switches.behaviour
        behaviour.before_prepare()
        names = [device.name for device in self._inventory.devices()]
        wanted = self._wanted(claim)
        with self._store.transaction() as claims:
            held = claims.get(claim.uid)
            # A claim can come back with other devices: it was deallocated while nobody could ask us to unprepare.
            if held is None or held.devices != wanted.devices:
                self._check(wanted, names, [other for other in claims.values() if other.uid != claim.uid])
                claims[claim.uid] = wanted
            driver = self._settings.driver_name
            cdi_ids = self._cdi.write(
                claim.uid, [behaviour.environment(driver, device, names) for device in wanted.devices]
            )
        return [
            PreparedDevice(
                requests=tuple(behaviour.request_names(device.requests)),
                pool=device.pool,
                device=device.device,
                cdi_id=cdi_id,
                share_id=device.share_id,
            )
            for device, cdi_id in zip(wanted.devices, cdi_ids, strict=True)
        ]

    def unprepare(self, claim: ClaimRef) -> None:
        """Let go of the claim's devices. Asks nobody: the claim may be gone. An unknown claim is a success."""
        behaviour = self._switches.behaviour
        with self._store.transaction() as claims:
            known = claim.uid in claims
            if behaviour.removes_cdi(known):
                self._cdi.remove(claim.uid)
            if known and behaviour.frees_device(claim.uid):
                del claims[claim.uid]

    def _wanted(self, claim: ClaimRef) -> HeldClaim:
        found = self._api.claim(claim.namespace, claim.name)
        if (uid := found["metadata"]["uid"]) != claim.uid:
            raise ClaimError(f"claim {claim.namespace}/{claim.name} has UID {uid}, not {claim.uid}: it was replaced")
        allocation = found.get("status", {}).get("allocation")
        if not allocation:
            raise ClaimError(f"claim {claim.namespace}/{claim.name} is not allocated")
        devices = tuple(_own_results(allocation, self._settings.driver_name))
        if not devices:
            raise ClaimError(f"claim {claim.namespace}/{claim.name} has no device of {self._settings.driver_name}")
        return HeldClaim(claim.uid, claim.namespace, claim.name, devices, self._settings.version)

    def _check(self, claim: HeldClaim, names: list[str], others: list[HeldClaim]) -> None:
        missing = set(names) - {device.device for device in claim.devices}
        if self._settings.all_devices and missing:
            raise ClaimError(f"a claim must hold all devices of a node, this one lacks {', '.join(sorted(missing))}")
        for device in claim.devices:
            if device.device not in names:
                raise ClaimError(f"node {self._settings.node_name} has no device {device.device}")
            for other in others:
                if any(self._switches.behaviour.excludes(device, held) for held in other.devices):
                    raise ClaimError(
                        f"device {device.device} is still held by claim {other.namespace}/{other.name} ({other.uid})"
                    )


def _own_results(allocation: Object, driver: str) -> Iterator[HeldDevice]:
    for result in allocation.get("devices", {}).get("results", ()):
        if result["driver"] == driver:
            yield HeldDevice(
                pool=result["pool"],
                device=result["device"],
                requests=(result["request"].split("/")[0],),
                share_id=result.get("shareID"),
                admin=bool(result.get("adminAccess")),
            )
