"""One instance of the driver: its parts, and the order in which they start and stop."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from drivers.fake import rpc, sockets
from drivers.fake.admin import JSON_LINES, OK, TEXT, UNAVAILABLE, AdminServer, Answer
from drivers.fake.behaviour import NodeFiles
from drivers.fake.calls import Calls
from drivers.fake.cdi import CdiDirectory
from drivers.fake.devices import Inventory
from drivers.fake.faults import Switches
from drivers.fake.health import SocketCheck
from drivers.fake.injection import Rule
from drivers.fake.journal import Journal
from drivers.fake.kube import Api
from drivers.fake.metrics import Metrics
from drivers.fake.plugin import Plugin
from drivers.fake.services import DeviceHealthService, DraService, RegistrationService
from drivers.fake.settings import Settings, SettingsError
from drivers.fake.slices import SlicePublisher

CALLS_GRACE_SECONDS = 8.0
"""How long calls in flight may take when the driver is told to stop."""

READY_WAIT_SECONDS = 2.0
"""How long the readiness probe (5 s) waits for the registration, which follows the start within a second or so."""

_THREADS = 32

_LOG = logging.getLogger(__name__)


class Driver:
    """The driver as the kubelet and the test suite see it. Raises SettingsError for an unknown fault."""

    def __init__(self, settings: Settings, api: Api) -> None:
        try:
            self._switches = Switches(settings.faults)
        except ValueError as error:
            raise SettingsError(f"FAULTS: {error}") from error
        behaviour, data = self._switches.behaviour, settings.data_dir
        for directory in (data, settings.registry_dir, settings.cdi_dir):
            directory.mkdir(parents=True, exist_ok=True)
        seamless = behaviour.seamless(settings)
        self._files = files = NodeFiles(
            settings=settings,
            service=sockets.service_socket(settings, seamless),
            registration=sockets.registration_socket(settings, seamless),
            lock=data / "sockets.lock",
            store=behaviour.store(data / "state.json", settings.state_format),
            cdi=CdiDirectory(settings.cdi_dir, settings.driver_name, by_node=settings.shown_by_node),
        )

        self._metrics = Metrics(settings.driver_name)
        self._journal = Journal(data / "journal.jsonl", settings)
        self._inventory = Inventory(
            data / "devices.json", settings.driver_name, settings.node_name, settings.devices, settings.device_specs
        )
        self._publisher = SlicePublisher(settings, api, self._inventory, self._switches, self._metrics)

        calls = Calls(self._switches, self._journal, self._metrics)
        plugin = Plugin(settings, api, self._inventory, self._switches, files.store, files.cdi)
        versions = [name for name in settings.services if name in rpc.DRA_PLUGIN]
        self._device_health = [
            DeviceHealthService(rpc.DRA_HEALTH[name], settings, self._inventory, self._switches)
            for name in settings.services
            if name in rpc.DRA_HEALTH
        ]
        self._registration = RegistrationService(files, self._switches)
        services = [DraService(rpc.DRA_PLUGIN[name], plugin) for name in versions]
        self._service_server = _server(
            [service.handler(calls) for service in services] + [health.handler(calls) for health in self._device_health]
        )
        self._registration_server = _server([self._registration.handler(calls)])
        self._check = SocketCheck(settings.driver_name, files.registration, files.service, versions[0])
        self._health = behaviour.health_server(settings.health_port, self.serving)
        self._admin = AdminServer(
            settings.admin_port,
            gets={
                "/metrics": lambda: Answer(OK, TEXT, self._switches.behaviour.metrics_text(self._metrics)),
                "/ready": self._ready,
                "/journal": lambda: Answer(OK, JSON_LINES, self._journal.read().encode()),
                "/faults": self._faults,
                "/devices": lambda: Answer.json(self._inventory.document()),
            },
            puts={"/faults": self._put_faults, "/devices": self._put_devices},
        )

    def start(self) -> None:
        """Serve. Raises StateError when the state file cannot be used: nothing is served then.

        The service comes before the registration that advertises it.
        """
        behaviour, files = self._switches.behaviour, self._files
        with files.store.transaction() as claims:
            _LOG.info("%d claims are prepared", len(claims))
        behaviour.on_start(files)
        self._admin.start()
        self._service = behaviour.listen(self._service_server, files.service, files.lock)
        self._publisher.start()
        self._register = behaviour.listen(self._registration_server, files.registration, files.lock)
        self._health.start()
        self._journal.event("start")
        _LOG.info("serving %s, registering by %s", files.service, files.registration)

    def stop(self) -> None:
        """Stop serving: the service, once its calls have ended, then the registration, then the slices' worker.

        The slices stay, and so do sockets that another instance has bound since. Those of dead ones go: there may be
        no start of another to remove them.
        """
        self._switches.behaviour.before_stop()
        self._journal.event("sigterm")
        for service in self._device_health:
            service.end_streams()
        self._service.withdraw()
        self._service_server.stop(CALLS_GRACE_SECONDS).wait()
        self._register.withdraw()
        self._registration_server.stop(grace=None).wait()
        self._publisher.stop()
        self._switches.behaviour.on_stop(self._publisher)
        sockets.remove_stale(self._files.settings, self._files.lock)
        self._health.stop()
        self._admin.stop()
        self._journal.event("stop")

    def serving(self) -> bool:
        """The health answer of now."""
        return self._switches.behaviour.serving(self._check)

    def registered(self, wait: float) -> bool:
        """Whether the kubelet has registered the driver, or does so within `wait` seconds."""
        return self._registration.registered(wait)

    def _ready(self) -> Answer:
        settings = self._files.settings
        ready = self._switches.behaviour.ready(lambda: self._registration.registered(READY_WAIT_SECONDS))
        document = {
            "driver": settings.driver_name,
            "version": settings.version,
            "node": settings.node_name,
            "instance": settings.pod_uid,
            "process": settings.process,
            "registered": self._registration.registered(),
            "service": str(self._files.service),
            "registration": str(self._files.registration),
        }
        return Answer.json(document, OK if ready else UNAVAILABLE)

    def _faults(self) -> Answer:
        return Answer.json({"planted": self._switches.planted, "rules": self._switches.rules.document()})

    def _put_faults(self, document: Any) -> Answer:
        if not isinstance(document, dict) or document.keys() - {"planted", "rules"}:
            raise ValueError("faults must be an object with the keys planted, rules")
        rules = [Rule.parse(rule) for rule in document.get("rules", [])]
        self._switches.plant(document.get("planted", []))
        self._switches.rules.replace(rules)
        self._publisher.look()
        self._inventory.wake()
        return self._faults()

    def _put_devices(self, document: Any) -> Answer:
        self._inventory.replace(document)
        self._publisher.look()
        return Answer.json(self._inventory.document())


def _server(handlers: Sequence[grpc.GenericRpcHandler[Any, Any]]) -> grpc.Server:
    server = grpc.server(ThreadPoolExecutor(_THREADS))
    server.add_generic_rpc_handlers(handlers)
    return server
