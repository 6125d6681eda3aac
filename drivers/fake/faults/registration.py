"""Faults in how the driver registers with the kubelet."""

from __future__ import annotations

import grpc

from drivers.fake.behaviour import Behaviour
from drivers.fake.faults.registry import dawdle, fault
from drivers.fake.injection import RpcError

SLOW_GET_INFO_SECONDS = 1.5
SLOW_GET_INFO_FOR_SECONDS = 20.0


@fault("registers-once")
class _RegistersOnce(Behaviour):
    """GetInfo answers until the kubelet has registered this process once, and fails ever after."""

    def before_get_info(self, registered: bool, age: float) -> None:
        super().before_get_info(registered, age)
        if registered:
            raise RpcError(grpc.StatusCode.FAILED_PRECONDITION, "registered before (planted: registers-once)")


@fault("getinfo-slow")
class _GetInfoSlow(Behaviour):
    """GetInfo takes longer than the kubelet waits, for the first 20 seconds of the process."""

    def before_get_info(self, registered: bool, age: float) -> None:
        super().before_get_info(registered, age)
        if age < SLOW_GET_INFO_FOR_SECONDS:
            dawdle(SLOW_GET_INFO_SECONDS)
