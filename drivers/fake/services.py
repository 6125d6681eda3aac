"""The gRPC services that the kubelet calls, on top of calls wrapped by `Calls`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc

from drivers.fake.behaviour import NodeFiles
from drivers.fake.calls import Calls
from drivers.fake.devices import Inventory
from drivers.fake.faults import Switches
from drivers.fake.injection import RpcError
from drivers.fake.kube import ApiError
from drivers.fake.plugin import ClaimError, ClaimRef, Plugin
from drivers.fake.rpc import GET_INFO, NOTIFY, DraHealth, DraPlugin
from drivers.fake.settings import Settings
from drivers.fake.state import StateError

HEALTH_REPEAT_SECONDS = 5.0
"""How often device health is sent again; the kubelet forgets it after 30 s."""

_LOG = logging.getLogger(__name__)
_CLAIM_FAILURES = (ClaimError, ApiError, StateError, OSError)


class DraService:
    """DRAPlugin in one version of its API."""

    def __init__(self, version: DraPlugin, plugin: Plugin) -> None:
        self._version = version
        self._plugin = plugin
        self._shares = "share_id" in version.messages.Device.DESCRIPTOR.fields_by_name

    def handler(self, calls: Calls) -> grpc.GenericRpcHandler[Any, Any]:
        """For a gRPC server."""
        prepare, unprepare = self._version.prepare, self._version.unprepare
        return grpc.method_handlers_generic_handler(
            prepare.service,
            {
                prepare.name: calls.unary(prepare, self._prepare),
                unprepare.name: calls.unary(unprepare, self._unprepare),
            },
        )

    def _prepare(self, request: Any, _own: bool) -> Any:
        response = self._version.prepare.response()
        for claim in request.claims:
            answer = response.claims[claim.uid]
            try:
                for device in self._plugin.prepare(ClaimRef(claim.uid, claim.namespace, claim.name)):
                    added = answer.devices.add(
                        request_names=device.requests,
                        pool_name=device.pool,
                        device_name=device.device,
                        cdi_device_ids=[device.cdi_id],
                    )
                    if self._shares and device.share_id is not None:
                        added.share_id = device.share_id
            except _CLAIM_FAILURES as error:
                answer.error = f"preparing claim {claim.name}: {error}"
        return response

    def _unprepare(self, request: Any, _own: bool) -> Any:
        response = self._version.unprepare.response()
        for claim in request.claims:
            answer = response.claims[claim.uid]
            try:
                self._plugin.unprepare(ClaimRef(claim.uid, claim.namespace, claim.name))
            except _CLAIM_FAILURES as error:
                answer.error = f"unpreparing claim {claim.name}: {error}"
        return response


class DeviceHealthService:
    """DRAResourceHealth in one version of its API."""

    def __init__(self, version: DraHealth, settings: Settings, inventory: Inventory, switches: Switches) -> None:
        self._version = version
        self._settings = settings
        self._inventory = inventory
        self._switches = switches
        self._ending = threading.Event()

    def handler(self, calls: Calls) -> grpc.GenericRpcHandler[Any, Any]:
        """For a gRPC server."""
        watch = self._version.watch
        return grpc.method_handlers_generic_handler(watch.service, {watch.name: calls.stream(watch, self._watch)})

    def end_streams(self) -> None:
        """End every stream; the kubelet connects to another instance."""
        self._ending.set()
        self._inventory.wake()

    def _watch(self, context: grpc.ServicerContext) -> Iterator[Any]:
        seen = self._inventory.changes()
        context.add_callback(self._inventory.wake)
        while context.is_active() and not self._ending.is_set():
            yield self._message()
            seen = self._inventory.wait(seen, HEALTH_REPEAT_SECONDS)

    def _message(self) -> Any:
        messages = self._version.messages
        pool, now = self._switches.behaviour.pool_name(self._settings), int(time.time())
        return self._version.watch.response(
            devices=[
                messages.DeviceHealth(
                    device=messages.DeviceIdentifier(pool_name=pool, device_name=device.name),
                    health=messages.HealthStatus.Value(device.health.upper()),
                    last_updated_time=now,
                    message=device.message,
                )
                for device in self._inventory.devices()
            ]
        )


class RegistrationService:
    """Registration: tells the kubelet who and where the driver is, and remembers what the kubelet made of it."""

    def __init__(self, files: NodeFiles, switches: Switches) -> None:
        self._files = files
        self._switches = switches
        self._started = time.monotonic()
        self._registered = threading.Event()

    def registered(self, wait: float = 0.0) -> bool:
        """Whether the kubelet's last word was that the driver is registered, or becomes so within `wait` seconds."""
        return self._registered.wait(wait)

    def handler(self, calls: Calls) -> grpc.GenericRpcHandler[Any, Any]:
        """For a gRPC server."""
        return grpc.method_handlers_generic_handler(
            GET_INFO.service,
            {
                GET_INFO.name: calls.unary(GET_INFO, self._get_info),
                NOTIFY.name: calls.unary(NOTIFY, self._notify),
            },
        )

    def _get_info(self, _request: Any, own: bool) -> Any:
        if not own:
            self._switches.behaviour.before_get_info(self.registered(), time.monotonic() - self._started)
        return GET_INFO.response(
            type="DRAPlugin",
            name=self._files.settings.driver_name,
            endpoint=str(self._files.service),
            supported_versions=self._files.settings.services,
        )

    def _notify(self, request: Any, _own: bool) -> Any:
        if not request.plugin_registered:
            self._registered.clear()
            _LOG.error("the kubelet refused the registration: %s", request.error)
            raise RpcError(grpc.StatusCode.FAILED_PRECONDITION, f"registration failed: {request.error}")
        self._registered.set()
        _LOG.info("registered with the kubelet")
        self._switches.behaviour.on_registered(self._files)
        return NOTIFY.response()
