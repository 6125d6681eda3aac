"""A driver that a vendor installed: used by all checks in turn, and afterwards as it was."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from drivers.install import RUN_LABEL, Instance, render
from drivers.loading import load
from fixtures.cluster.kind.config import DEVICE_LABEL
from fixtures.kube.informer import Scope
from fixtures.kube.namespaces import namespace_object
from fixtures.kube.polls import poll
from fixtures.kube.status import is_leaving, rolled_out
from fixtures.kube.timeouts import Timeouts
from fixtures.kube.waits import wait_for
from fixtures.workload.workloads import WORKLOAD_LABEL

if TYPE_CHECKING:
    from tests.existing.conftest import ByHand, Everything
    from tests.runs import Suite

Object = dict[str, Any]
SPACE = "dra-vendor"
HARMLESS = ("driver.deployment.placement", "driver.capacity.every-device-allocatable", "driver.unprepare.releases")
DISTURBING = (
    *("upgrade.downtime.cleanup-delayed", "upgrade.downtime.prepared-claim-starts", "liveness.restart.hung"),
    *("upgrade.seamless.slices-continuous", "drain.order.driver-last", "drain.uncordon.heals"),
    *("upgrade.seamless.failed-rollout", "driver.registration.registers"),
)
NOT_THEIRS = {"drain.uncordon.heals", "upgrade.seamless.failed-rollout"}
LOST = "liveness.restart.socket-lost"
ROLLED_OUT = (
    r"^(made|deleted|changed): (pods|endpoints|endpointslices|controllerrevisions)/|\.?status\."
    r"|deprecated\.daemonset\.template\.generation"
    r"|resourceslices/\S+: (metadata\.(creationTimestamp|uid)|spec\.pool\.generation): "
)
"""What a vendor's driver that came and went leaves: other pods, and the same devices published anew."""


@pytest.fixture(scope="module")
def vendors(by_hand: ByHand, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The fake driver, installed under a fixed name by somebody else; yields the option that names its manifest."""
    selector = {DEVICE_LABEL: "true"}
    instance = Instance(load("fake"), id="vendor", run="none", version="1.0.0", node_selector=selector)
    objects: list[Object] = [namespace_object(instance.namespace, "none", "privileged"), *render(instance)]
    for item in objects:
        del item["metadata"]["labels"][RUN_LABEL]
        by_hand.kube.apply(item)
    names = {"daemonSets": list(instance.daemon_sets), "serviceAccount": instance.service_account}
    content = yaml.safe_load(Path("drivers/catalog/fake.yaml").read_text()) | {
        "name": instance.name,
        "install": {"kind": "preinstalled"},
        "workload": {"namespace": instance.namespace, "containers": {"driver": instance.name}, **names},
        "claim": {"deviceClassName": instance.device_class},
    }
    del content["upgrade"]
    file = tmp_path_factory.mktemp("vendor") / "driver.yaml"
    file.write_text(yaml.safe_dump(content))
    yield f"--dra-driver={file}"
    for item in reversed(objects):
        by_hand.kube.delete(item["kind"], item["metadata"]["name"], item["metadata"].get("namespace"))


def test_a_run_uses_it_as_it_is(by_hand: ByHand, suite: Suite, vendors: str, look: Callable[[], Everything]) -> None:
    first = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", vendors, f"--dra-check={HARMLESS[0]}", "-n0")
    assert first.outcomes()[HARMLESS[0]] == "passed", "its slices are there from now on"
    before = look()
    done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", vendors, f"--dra-check={','.join(HARMLESS)}", "-n3")
    assert {name: done.outcomes()[name] for name in HARMLESS} == dict.fromkeys(HARMLESS, "passed")
    assert before.changes(look()) == []


def test_a_run_that_may_disturb_it_undoes_what_it_did(
    by_hand: ByHand, suite: Suite, vendors: str, look: Callable[[], Everything]
) -> None:
    before = look()
    done = suite.run(*by_hand.disturbing(), vendors, f"--dra-check={','.join(DISTURBING)}", "-n3", "--dist=worksteal")
    expected = {name: "not-applicable" if name in NOT_THEIRS else "passed" for name in DISTURBING}
    assert {name: done.outcomes()[name] for name in DISTURBING} == expected
    assert before.changes(look(), ROLLED_OUT) == []


@pytest.fixture
def blind(by_hand: ByHand, vendors: str) -> str:
    """The vendor's driver with a probe that is good whatever happens to its sockets."""
    for daemon_set in by_hand.kube.list("DaemonSet", SPACE):
        probe = daemon_set["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]
        numbers = {key: value for key, value in probe.items() if not isinstance(value, dict)}
        value = numbers | {"exec": {"command": ["true"]}}
        patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/livenessProbe", "value": value}]
        words = ("patch", "daemonset", daemon_set["metadata"]["name"], f"--namespace={SPACE}", "--type=json")
        by_hand.kubectl(*words, f"--patch={json.dumps(patch)}")
    limit = Timeouts()["rollout"]
    wait_for(by_hand.kube, Scope("DaemonSet", SPACE), rolled_out, timeout=limit, what="the blind probe rolled out")
    stay = Scope("Pod", SPACE)
    wait_for(by_hand.kube, stay, lambda pods: not any(map(is_leaving, pods)), timeout=limit, what="older pods gone")
    return vendors


def sockets(by_hand: ByHand) -> set[tuple[str, str]]:
    """Sockets of the vendor's driver, and what the suite has put aside: node and path, without the UIDs of its pods.

    So what a pod that was killed left there counts as what the next one has made.
    """
    find = "find /var/lib/kubelet/plugins/d-vendor.fake.dra /var/lib/kubelet/plugins_registry -type s"
    found = {n: by_hand.commands.run(["docker", "exec", n, "sh", "-c", find], limit=60) for n in by_hand.nodes()}
    uid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]+){4}")
    return {(node, uid.sub("UID", path)) for node, text in found.items() for path in text.split()}


def test_a_socket_that_it_does_not_miss_comes_back(
    by_hand: ByHand, suite: Suite, blind: str, look: Callable[[], Everything]
) -> None:
    before, there = look(), sockets(by_hand)
    others = ("driver.capacity.every-device-allocatable", "driver.registration.registers")
    chosen = f"--dra-check={','.join((LOST, *others))}"
    done = suite.run(*by_hand.disturbing(), blind, chosen, "-n2", "--dist=worksteal")
    assert done.report
    outcomes = done.outcomes()
    assert outcomes[LOST] == "failed"
    assert {name: outcomes[name] for name in others} == dict.fromkeys(others, "passed")
    assert done.report.leftovers == ()
    assert sockets(by_hand) == there
    assert before.changes(look(), ROLLED_OUT) == []


def is_aside(by_hand: ByHand) -> bool:
    return any(".aside-" in path for _, path in sockets(by_hand))


def is_hung(by_hand: ByHand) -> bool:
    return any(".hung-" in path for _, path in sockets(by_hand))


def is_stopped(by_hand: ByHand) -> bool:
    stopped = "grep -ls '^State:.T' /proc/[0-9]*/status || true"
    return any(by_hand.commands.run(["docker", "exec", n, "sh", "-c", stopped], limit=60) for n in by_hand.nodes())


def driver_sets(by_hand: ByHand) -> list[Object]:
    return by_hand.kube.list("DaemonSet", SPACE)


def is_nowhere(by_hand: ByHand) -> bool:
    sets = driver_sets(by_hand)
    return any("dra-conformance/nowhere" in item["spec"]["template"]["spec"]["nodeSelector"] for item in sets)


def is_cordoned(by_hand: ByHand) -> bool:
    return any(node["spec"].get("unschedulable") for node in by_hand.kube.list("Node"))


INJURIES: dict[str, tuple[str, Callable[[ByHand], bool]]] = {
    "a socket removed": (LOST, is_aside),
    "a socket that hangs in its place": ("liveness.probe.truthful", is_hung),
    "its process stopped": ("liveness.restart.hung", is_stopped),
    "it is nowhere": ("upgrade.downtime.running-pods-survive", is_nowhere),
    "a node drained": ("drain.order.driver-last", is_cordoned),
}


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("injury", INJURIES)
def test_a_run_that_is_ended_in_the_middle_of_an_injury_undoes_it(
    by_hand: ByHand, suite: Suite, blind: str, injury: str, workers: str, look: Callable[[], Everything]
) -> None:
    check, is_there = INJURIES[injury]
    before, there = look(), sockets(by_hand)
    process = suite.start(*by_hand.disturbing(), blind, f"--dra-check={check}", workers)
    assert poll(lambda: is_there(by_hand), 240), injury
    process.send_signal(signal.SIGTERM)
    done = suite.end(process)
    assert done.outcomes()[check] == "not-run"
    assert done.report
    assert done.report.leftovers == ()
    assert not is_there(by_hand)
    assert sockets(by_hand) == there
    assert before.changes(look(), ROLLED_OUT) == []


def test_a_doctor_that_is_ended_leaves_nothing(
    by_hand: ByHand, suite: Suite, vendors: str, look: Callable[[], Everything]
) -> None:
    before = look()
    process = suite.start(f"--dra-kubeconfig={by_hand.kubeconfig}", vendors, "--dra-doctor")
    assert poll(lambda: by_hand.kube.list("Pod", labels=WORKLOAD_LABEL), 120), "it tries a pod on each worker"
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=240)
    assert process.returncode == 2, said
    assert "interrupted" in said
    assert before.changes(look()) == []


def test_devices_in_use_are_left_to_their_holders(by_hand: ByHand, suite: Suite, vendors: str) -> None:
    kube, name = by_hand.kube, "somebody-at-work"
    exactly = {"deviceClassName": "d-vendor.fake.dra"}
    spec: Object = {"devices": {"requests": [{"name": "device", "exactly": exactly}]}}
    metadata = {"name": name, "namespace": "default"}
    kube.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec})
    pod: Object = {
        "resourceClaims": [{"name": "device", "resourceClaimName": name}],
        "containers": [
            {
                "name": "main",
                "image": "localhost/dra-conformance/busybox:1",
                "command": ["sleep", "3600"],
                "resources": {"claims": [{"name": "device"}]},
            }
        ],
        "terminationGracePeriodSeconds": 0,
    }
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod})
    limit = Timeouts()["pod_running"]
    running = Scope("Pod", "default", name)
    wait_for(kube, running, lambda pods: pods[0]["status"].get("phase") == "Running", timeout=limit, what="at work")
    done = suite.run(f"--dra-kubeconfig={by_hand.kubeconfig}", vendors, f"--dra-check={HARMLESS[1]}", "-n0")
    assert done.report
    told = next(check for check in done.report.checks if check.id == HARMLESS[1])
    assert told.outcome == "inconclusive"
    assert f"default/{name}" in (told.reason or "")
    assert kube.get("Pod", name, "default")["status"]["phase"] == "Running"
    kube.delete("Pod", name, "default")
    wait_for(kube, running, lambda pods: not pods, timeout=limit, what="gone")
    kube.delete("ResourceClaim", name, "default")


def test_a_driver_that_somebody_keeps_as_it_is_cannot_be_judged(by_hand: ByHand, suite: Suite, vendors: str) -> None:
    check = "upgrade.downtime.unprepared-claim-waits"
    originals = [daemon_set["spec"]["template"]["spec"]["nodeSelector"] for daemon_set in driver_sets(by_hand)]
    process = suite.start(*by_hand.disturbing(), vendors, f"--dra-check={check}", "-n0")
    assert poll(lambda: is_nowhere(by_hand), 240)
    for daemon_set, original in zip(driver_sets(by_hand), originals, strict=True):
        selector = dict.fromkeys(daemon_set["spec"]["template"]["spec"]["nodeSelector"]) | original
        patch = json.dumps({"spec": {"template": {"spec": {"nodeSelector": selector}}}})
        words = ("patch", "daemonset", daemon_set["metadata"]["name"], f"--namespace={SPACE}", "--type=merge")
        by_hand.kubectl(*words, f"--patch={patch}", "--field-manager=gitops")
    done = suite.end(process)
    assert done.report
    told = next(result for result in done.report.checks if result.id == check)
    assert told.outcome == "inconclusive"
    assert "was changed by gitops after this check had changed it" in (told.reason or "")
    assert done.report.leftovers == ()
