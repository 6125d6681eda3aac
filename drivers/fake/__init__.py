"""A DRA kubelet plugin in pure Python, healthy unless a fault is planted in it.

It runs as `python3 -m drivers.fake`, configured by the environment (`settings`). Reading order: `driver` wires the
parts; `rpc` and `calls` carry the gRPC methods, `services` serves them; `plugin` prepares and unprepares claims on
`state`, `devices` and `cdi`; `pool` and `slices` publish; `health` answers the probe, and outside pods `supervision`
tells systemd; `admin` faces the test suite. `behaviour` names each point at which a fault may differ from a healthy
driver; `faults` holds those that do.

The messages in `proto` are generated, from the root of the repository, with the oldest supported grpcio-tools:
`python -m grpc_tools.protoc -I. --python_out=. drivers/fake/proto/*.proto`
"""
