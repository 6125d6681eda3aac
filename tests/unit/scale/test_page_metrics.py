"""Which of the page's metrics an endpoint lacks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3.exceptions

from drivers.install import Instance
from drivers.loading import load
from fixtures.cluster import component_metrics
from fixtures.cluster.handle import ClusterHandle
from fixtures.driver.driver import Driver
from fixtures.kube import metrics
from fixtures.kube.api import Kube, Refused
from fixtures.kube.metrics import Scrape
from fixtures.kube.timeouts import Timeouts
from fixtures.scale import page_metrics

CONTROLLER_MANAGER = """
# TYPE workqueue_adds_total counter
workqueue_adds_total{name="resource_claim"} 3
workqueue_adds_total{name="job"} 1
# TYPE workqueue_depth gauge
workqueue_depth{name="resource_claim"} 0
# TYPE workqueue_work_duration_seconds histogram
workqueue_work_duration_seconds_bucket{name="resource_claim",le="+Inf"} 3
workqueue_work_duration_seconds_sum{name="resource_claim"} 0.1
workqueue_work_duration_seconds_count{name="resource_claim"} 3
"""
SCHEDULER = """
# TYPE scheduler_pod_scheduling_sli_duration_seconds histogram
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="1",le="+Inf"} 3
# TYPE scheduler_scheduling_algorithm_duration_seconds histogram
scheduler_scheduling_algorithm_duration_seconds_bucket{le="+Inf"} 3
"""
KUBELET = """
# TYPE dra_operations_duration_seconds histogram
dra_operations_duration_seconds_bucket{operation_name="PrepareResources",is_error="false",le="+Inf"} 1
dra_operations_duration_seconds_bucket{operation_name="UnprepareResources",is_error="false",le="+Inf"} 1
"""
GRPC = """
# TYPE dra_grpc_operations_duration_seconds histogram
dra_grpc_operations_duration_seconds_bucket{%smethod_name="/k8s.io.dra.v1.DRAPlugin/NodePrepareResources",le="+Inf"} 1
dra_grpc_operations_duration_seconds_bucket{%smethod_name="/k8s.io.dra.v1.DRAPlugin/NodeUnprepareResources",le="+Inf"} 1
"""
NAME = "d-1a2b3c.fake.dra"
ALL = {
    "kube-controller-manager": CONTROLLER_MANAGER,
    "kube-scheduler": SCHEDULER,
    "kubelet": KUBELET + GRPC.replace("%s", f'driver_name="{NAME}",'),
    "driver": GRPC.replace("%s", ""),
}


def missing(monkeypatch: pytest.MonkeyPatch, served: dict[str, Any], driver_name: str = "fake") -> list[str]:
    """What is missing where each component serves a text, or raises an error."""

    def scrape(component: str) -> Scrape:
        if isinstance(served[component], Exception):
            raise served[component]
        return Scrape(served[component])

    monkeypatch.setattr(component_metrics, "control_plane", lambda _kube, _handle, component: scrape(component))
    monkeypatch.setattr(metrics, "kubelet", lambda _kube, _node: scrape("kubelet"))
    monkeypatch.setattr(metrics, "pod", lambda _kube, _name, _namespace, _port: scrape("driver"))
    monkeypatch.setattr(Driver, "pods", lambda _self, _node: [{"metadata": {"name": "p"}}])
    kube = Kube.__new__(Kube)
    handle = ClusterHandle(
        "standard", "c", Path("k"), "1.37.2", (), frozenset(), Path("kubectl"), Path("docker"), Path("state")
    )
    instance = Instance(load(driver_name), id="1a2b3c", run="run-1", version="1.0.0", node_selector={})
    return page_metrics.missing(kube, handle, Driver(kube, instance, ["n"], {}, Timeouts()), "n")


def test_nothing_is_missing_where_all_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(monkeypatch, ALL) == []


@pytest.mark.parametrize(
    ("component", "loses", "said"),
    [
        (
            "kube-controller-manager",
            'workqueue_depth{name="resource_claim"}',
            ['kube-controller-manager workqueue_depth{name="resource_claim"}'],
        ),
        (
            "kube-scheduler",
            "scheduler_pod_scheduling_sli_duration_seconds_bucket",
            ["kube-scheduler scheduler_pod_scheduling_sli_duration_seconds_bucket"],
        ),
        (
            "kubelet",
            'operation_name="UnprepareResources"',
            ['kubelet dra_operations_duration_seconds_bucket{operation_name="UnprepareResources"}'],
        ),
        (
            "driver",
            "/NodePrepareResources",
            ['driver dra_grpc_operations_duration_seconds_bucket{method_name=~".*NodePrepareResources"}'],
        ),
    ],
)
def test_what_is_not_served_is_named_with_its_labels(
    monkeypatch: pytest.MonkeyPatch, component: str, loses: str, said: list[str]
) -> None:
    kept = "\n".join(line for line in ALL[component].splitlines() if loses not in line) + "\n"
    assert missing(monkeypatch, {**ALL, component: kept}) == said


def test_the_kubelets_calls_to_another_driver_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = missing(monkeypatch, {**ALL, "kubelet": ALL["kubelet"].replace(NAME, "other.dra")})
    assert len(found) == 2
    assert all(text.startswith("kubelet dra_grpc_operations_duration_seconds_bucket") for text in found)


def test_a_driver_without_metrics_lacks_both_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    served = {**ALL, "kubelet": ALL["kubelet"].replace(NAME, "p-1a2b3c.pydra.dra")}
    assert [text.split()[0] for text in missing(monkeypatch, served, "kubernetes-pydra")] == ["driver", "driver"]


@pytest.mark.parametrize(
    "error",
    [
        PermissionError("kube-scheduler metrics: HTTP 403"),
        urllib3.exceptions.HTTPError("no route\nto host"),
        urllib3.exceptions.HTTPError(),
        Refused(SimpleNamespace(status=403, reason="no", body="", headers={})),  # type: ignore[no-untyped-call]
    ],
    ids=["refused by component", "unreachable", "without words", "refused by API"],
)
def test_a_component_that_cannot_be_scraped_says_why_in_a_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    (said,) = missing(monkeypatch, {**ALL, "kube-scheduler": error})
    assert said.startswith("kube-scheduler: cannot be scraped: ")
    assert "\n" not in said


def test_series_are_found_by_name_and_labels() -> None:
    scrape = Scrape(CONTROLLER_MANAGER)
    assert [s.value for s in scrape.series("workqueue_adds_total")] == [3, 1]
    assert [s.value for s in scrape.series("workqueue_adds_total", name="job")] == [1]
    assert list(scrape.series("workqueue_adds_total", name="nosuch")) == []


def test_registered_sockets_are_the_drivers_own_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("actual", "x.dra-1", 1), ("actual", "x.dra-0", 1), ("actual", "y.dra", 1), ("actual", "x.dra-gone", 0)]
    rows.append(("desired", "x.dra-wanted", 1))
    text = "# TYPE plugin_manager_total_plugins gauge\n" + "".join(
        f'plugin_manager_total_plugins{{socket_path="/r/{path}",state="{state}_state_of_world"}} {value}\n'
        for state, path, value in rows
    )
    monkeypatch.setattr(Kube, "raw", lambda _self, _method, path: text if path.endswith("/n/proxy/metrics") else "")
    assert metrics.registered_sockets(Kube.__new__(Kube), "n", "x.dra") == ["/r/x.dra-0", "/r/x.dra-1"]
