"""Prometheus metrics, named like those of drivers that use the Go helper."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

QUEUE = "node_resource_slices"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 45.0)


class Metrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._registry = CollectorRegistry()
        self._calls = Histogram(
            "dra_grpc_operations_duration_seconds",
            "Duration in seconds of the DRA gRPC operations that the driver served",
            ["driver_name", "method_name", "grpc_status_code"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._adds = Counter("workqueue_adds_total", "Pool syncs asked for", ["name"], registry=self._registry)
        self._retries = Counter("workqueue_retries_total", "Pool syncs repeated", ["name"], registry=self._registry)
        self._work = Histogram(
            "workqueue_work_duration_seconds",
            "Duration in seconds of pool syncs",
            ["name"],
            buckets=_BUCKETS,
            registry=self._registry,
        )

    def call(self, method_path: str, code: str, seconds: float) -> None:
        """A call was served; `code` is spelled as by Go (`DeadlineExceeded`)."""
        self._calls.labels(self._driver, method_path, code).observe(seconds)

    def sync_asked(self) -> None:
        """Somebody wants the slices looked at."""
        self._adds.labels(QUEUE).inc()

    def sync_done(self, seconds: float) -> None:
        """The slices were looked at."""
        self._work.labels(QUEUE).observe(seconds)

    def sync_failed(self) -> None:
        """They have to be looked at again."""
        self._retries.labels(QUEUE).inc()

    def text(self) -> bytes:
        """All metrics in the text format."""
        return generate_latest(self._registry)
