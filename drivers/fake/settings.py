"""What one process of the fake driver is told by its environment."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SERVICES = ("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth")

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DRIVER_NAME = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*")
_DRIVER_NAME_MAX = 63


class SettingsError(Exception):
    """The environment does not describe a driver; the message names the variable and what it must be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of one process.

    `version` decides the format of the state file (its major number), `devices` how many devices the node has until
    somebody changes that at run time, `labels` what the published slices carry. `device_specs` are the devices in the
    words of a ResourceSlice, as far as they are not like any other; further ones are plain. `shared_counters` are the
    counter sets that they consume. With `all_devices` a claim is refused that does not hold every device of the node.
    Ports are TCP, on all addresses; 0 is whichever is free.
    """

    driver_name: str
    version: str
    node_name: str
    pod_uid: str
    seamless: bool
    kubelet_root: Path
    cdi_dir: Path
    devices: int
    services: tuple[str, ...]
    health_port: int
    admin_port: int
    faults: tuple[str, ...]
    labels: Mapping[str, str]
    shown_by_node: bool
    device_specs: tuple[Mapping[str, Any], ...] = ()
    shared_counters: tuple[Mapping[str, Any], ...] = ()
    all_devices: bool = False
    process: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Read the variables; raises SettingsError on a missing or unusable one.

        Required: DRIVER_NAME, NODE_NAME, and POD_UID when seamless. Optional: DRIVER_VERSION (1.0.0), SEAMLESS
        (true), KUBELET_ROOT, CDI_DIR, DEVICES (4), SERVICES, HEALTH_PORT (8081; -1 for none), ADMIN_PORT (8082),
        FAULTS, LABELS (`key=value`, as a comma list), SHOWN_BY (variable; node: a device in a container is a file),
        DEVICE_SPECS and SHARED_COUNTERS (JSON lists; DEVICES is then the number of the former), ALL_DEVICES (false).
        """
        specs = _named(env, "DEVICE_SPECS")
        seamless = _one_of(env, "SEAMLESS", {"true": True, "false": False}, "true")
        settings = cls(
            driver_name=_required(env, "DRIVER_NAME"),
            version=env.get("DRIVER_VERSION", "1.0.0"),
            node_name=_required(env, "NODE_NAME"),
            pod_uid=_required(env, "POD_UID") if seamless else env.get("POD_UID", ""),
            seamless=seamless,
            kubelet_root=Path(env.get("KUBELET_ROOT", "/var/lib/kubelet")),
            cdi_dir=Path(env.get("CDI_DIR", "/var/run/cdi")),
            devices=_number(env, "DEVICES", len(specs) or 4),
            services=_list(env.get("SERVICES", ",".join(SERVICES))),
            health_port=-1 if env.get("HEALTH_PORT") == "-1" else _number(env, "HEALTH_PORT", 8081),
            admin_port=_number(env, "ADMIN_PORT", 8082),
            faults=_list(env.get("FAULTS", "")),
            shown_by_node=_one_of(env, "SHOWN_BY", {"variable": False, "node": True}, "variable"),
            labels=dict(_pair(item) for item in _list(env.get("LABELS", ""))),
            device_specs=specs,
            shared_counters=_named(env, "SHARED_COUNTERS"),
            all_devices=_one_of(env, "ALL_DEVICES", {"true": True, "false": False}, "false"),
        )
        if not _DRIVER_NAME.fullmatch(settings.driver_name) or len(settings.driver_name) > _DRIVER_NAME_MAX:
            raise SettingsError(
                f"DRIVER_NAME={settings.driver_name!r} must be a DNS subdomain of at most {_DRIVER_NAME_MAX} characters"
            )
        if unknown := [service for service in settings.services if service not in SERVICES]:
            raise SettingsError(f"SERVICES has {', '.join(unknown)}; known are {', '.join(SERVICES)}")
        if not any(service.endswith(".DRAPlugin") for service in settings.services):
            raise SettingsError("SERVICES has no DRAPlugin: the kubelet would refuse the driver")
        if not settings.version.split(".")[0].isdecimal():
            raise SettingsError(f"DRIVER_VERSION={settings.version!r} must look like 1.0.0")
        return settings

    @property
    def data_dir(self) -> Path:
        """Where all instances of this driver on the node keep sockets, state and journal."""
        return self.kubelet_root / "plugins" / self.driver_name

    @property
    def registry_dir(self) -> Path:
        """Where the kubelet looks for registration sockets."""
        return self.kubelet_root / "plugins_registry"

    @property
    def state_format(self) -> int:
        """The newest format of the state file that this version writes."""
        return int(self.version.split(".")[0])


def _required(env: Mapping[str, str], name: str) -> str:
    if value := env.get(name):
        return value
    raise SettingsError(f"{name} is not set")


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    value = env.get(name, str(default))
    if not value.isdecimal():
        raise SettingsError(f"{name}={value!r} must be a number")
    return int(value)


def _one_of(env: Mapping[str, str], name: str, values: Mapping[str, bool], default: str) -> bool:
    value = env.get(name, default)
    if value not in values:
        raise SettingsError(f"{name}={value!r} must be one of {', '.join(values)}")
    return values[value]


def _list(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _named(env: Mapping[str, str], name: str) -> tuple[Mapping[str, Any], ...]:
    text = env.get(name) or "[]"
    try:
        items = json.loads(text)
        names = [item["name"] for item in items]
    except (ValueError, TypeError, KeyError) as error:
        raise SettingsError(f"{name}={text!r} must be a JSON list of objects that have a name") from error
    if len(set(names)) < len(names):
        raise SettingsError(f"{name} has a name twice: {', '.join(names)}")
    return tuple(items)


def _pair(item: str) -> tuple[str, str]:
    key, equals, value = item.partition("=")
    if not equals:
        raise SettingsError(f"LABELS has {item!r}, which is not key=value")
    return key, value
