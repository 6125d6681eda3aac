"""The gRPC methods between kubelet and driver, for serving them as much as for calling them.

`DRA_PLUGIN` and `DRA_HEALTH` hold the served API versions by the name that registration advertises for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2

from drivers.fake.proto import (
    dra_health_v1_pb2,
    dra_health_v1alpha1_pb2,
    dra_v1_pb2,
    dra_v1beta1_pb2,
    registration_v1_pb2,
)

PROBE_METADATA = (("dra-fake-probe", "1"),)
"""Marks the driver's calls of its own sockets, which are kept out of journal, metrics and faults."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a service; `service` is the full name, `request` and `response` are the message classes."""

    service: str
    name: str
    request: Any
    response: Any

    @property
    def path(self) -> str:
        """The full gRPC path, as in the label `method_name` of metrics."""
        return f"/{self.service}/{self.name}"

    def unary(self, serve: Callable[[Any, grpc.ServicerContext], Any]) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler that answers once."""
        return grpc.unary_unary_rpc_method_handler(serve, self.request.FromString, _serialize)

    def stream(self, serve: Callable[[Any, grpc.ServicerContext], Iterator[Any]]) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler that answers with a stream."""
        return grpc.unary_stream_rpc_method_handler(serve, self.request.FromString, _serialize)

    def stub(self, channel: grpc.Channel) -> Callable[..., Any]:
        """Calls the method; takes the request and `timeout` and `metadata` like any grpcio stub."""
        return channel.unary_unary(self.path, _serialize, self.response.FromString)

    def stream_stub(self, channel: grpc.Channel) -> Callable[..., Any]:
        """The same for a method that answers with a stream."""
        return channel.unary_stream(self.path, _serialize, self.response.FromString)


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


@dataclass(frozen=True, slots=True)
class DraPlugin:
    """One version of the DRAPlugin service; `messages` is the generated module."""

    messages: ModuleType
    prepare: Method
    unprepare: Method


@dataclass(frozen=True, slots=True)
class DraHealth:
    """One version of the DRAResourceHealth service; `messages` is the generated module."""

    messages: ModuleType
    watch: Method


def _dra_plugin(messages: ModuleType) -> DraPlugin:
    service = messages.DESCRIPTOR.services_by_name["DRAPlugin"].full_name
    return DraPlugin(
        messages,
        Method(
            service, "NodePrepareResources", messages.NodePrepareResourcesRequest, messages.NodePrepareResourcesResponse
        ),
        Method(
            service,
            "NodeUnprepareResources",
            messages.NodeUnprepareResourcesRequest,
            messages.NodeUnprepareResourcesResponse,
        ),
    )


def _dra_health(messages: ModuleType) -> DraHealth:
    service = messages.DESCRIPTOR.services_by_name["DRAResourceHealth"].full_name
    request, response = messages.NodeWatchResourcesRequest, messages.NodeWatchResourcesResponse
    return DraHealth(messages, Method(service, "NodeWatchResources", request, response))


DRA_PLUGIN = {"v1.DRAPlugin": _dra_plugin(dra_v1_pb2), "v1beta1.DRAPlugin": _dra_plugin(dra_v1beta1_pb2)}
DRA_HEALTH = {
    "v1.DRAResourceHealth": _dra_health(dra_health_v1_pb2),
    "v1alpha1.DRAResourceHealth": _dra_health(dra_health_v1alpha1_pb2),
}
_REGISTRATION: ModuleType = registration_v1_pb2
GET_INFO = Method("pluginregistration.Registration", "GetInfo", _REGISTRATION.InfoRequest, _REGISTRATION.PluginInfo)
NOTIFY = Method(
    "pluginregistration.Registration",
    "NotifyRegistrationStatus",
    _REGISTRATION.RegistrationStatus,
    _REGISTRATION.RegistrationStatusResponse,
)
HEALTH_CHECK = Method("grpc.health.v1.Health", "Check", health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse)


def channel(path: str) -> grpc.Channel:
    """A connection of its own to a Unix socket, addressed the way the kubelet does."""
    options = [("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.insecure_channel(f"unix:{path}", options)
