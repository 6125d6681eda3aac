"""A driver made with the PyPI package kubernetes-pydra 0.1.0: plain devices, each shown by one variable through CDI.

Runs as `python3 -m pydra_server`. What the package's server class does itself is left as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
from pathlib import Path

from pydra.core.server import DraNodeServer

NAME = os.environ["DRIVER_NAME"]
PLUGINS = Path("/var/lib/kubelet/plugins") / NAME
REGISTRY = Path("/var/lib/kubelet/plugins_registry")
CDI = Path("/var/run/cdi")


class PlainDevices(DraNodeServer):  # type: ignore[misc]
    """`DEVICES` numbered devices; preparing a claim writes one CDI spec for it."""

    def get_devices(self) -> list[str]:
        """Names of the devices of this node."""
        return [f"device-{index}" for index in range(int(os.environ["DEVICES"]))]

    async def prepare_hardware(self, claim_uid: str, namespace: str, name: str) -> list[str]:
        """Write the claim's CDI spec; returns its CDI device ids."""
        read = self.k8s_api.read_namespaced_resource_claim
        claim = await asyncio.to_thread(read, name=name, namespace=namespace)
        devices = [r.device for r in claim.status.allocation.devices.results if r.driver == NAME]
        spec = {
            "cdiVersion": "0.6.0",
            "kind": f"{NAME}/device",
            "devices": [
                {
                    "name": f"{claim_uid}-{device}",
                    "containerEdits": {"env": [f"PYDRA_{device.replace('-', '_').upper()}={NAME}/{device}"]},
                }
                for device in devices
            ],
        }
        _spec_of(claim_uid).write_text(json.dumps(spec))
        return [f"{NAME}/device={claim_uid}-{device}" for device in devices]

    async def unprepare_hardware(self, claim_uid: str, namespace: str, name: str) -> None:  # noqa: ARG002
        """Delete the claim's CDI spec."""
        _spec_of(claim_uid).unlink(missing_ok=True)


def _spec_of(claim_uid: str) -> Path:
    return CDI / f"{NAME}-{claim_uid}.json"


async def main() -> None:
    """Serve until SIGTERM."""
    server = PlainDevices(NAME, str(PLUGINS / "dra.sock"), registration_socket_path=str(REGISTRY / f"{NAME}-reg.sock"))
    serving = asyncio.ensure_future(server.serve())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(main())
