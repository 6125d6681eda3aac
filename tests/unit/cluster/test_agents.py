"""The pods that give a shell on nodes: made once and on first use; whether the cluster allows them is asked before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drivers.install import RUN_LABEL
from fixtures.cluster.handle import ClusterHandle
from fixtures.cluster.nodes.agents import NAME, Agents, AgentShell, answering
from fixtures.cluster.nodes.shell import EXEC_LIMIT, DockerShell, NodeShellError
from fixtures.cluster.nodes.shells import shells_on
from fixtures.kube.exec import Done, Unheard

if TYPE_CHECKING:
    from tests.unit.conftest import Memory

Object = dict[str, Any]
SPACE = "dra-agents-r1"
LET = {"status": {"allowed": True}}


@pytest.fixture
def agents(memory: Memory, tmp_path: Path) -> Agents:
    return Agents(memory, "r1", "registry/busybox:1", ("a", "b"), tmp_path)


def agent(node: str, name: str = "agent-x", **status: Any) -> Object:
    metadata = {"name": name, "namespace": SPACE}
    up = {"containerStatuses": [{"name": NAME, "state": status or {"running": {}}}]}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": up}


def test_agents_are_made_once_in_a_namespace_that_allows_them(agents: Agents, memory: Memory) -> None:
    memory.put(agent("a", "agent-a"))
    memory.put(agent("b", "agent-b"))
    assert (agents.pod_on("a"), agents.pod_on("b")) == ("agent-a", "agent-b")
    assert memory.done == [f"apply Namespace/{SPACE}", f"apply DaemonSet/{NAME}"]
    labels = memory.get("Namespace", SPACE)["metadata"]["labels"]
    assert labels == {RUN_LABEL: "r1", "pod-security.kubernetes.io/enforce": "privileged"}


def test_an_agent_reaches_the_node_and_nothing_else(agents: Agents, memory: Memory) -> None:
    memory.put(agent("a"))
    agents.pod_on("a")
    item = memory.get("DaemonSet", NAME, SPACE)
    spec = item["spec"]["template"]["spec"]
    assert spec["hostPID"] is True
    assert spec["automountServiceAccountToken"] is False
    assert spec["containers"][0]["image"] == "registry/busybox:1"
    assert spec["containers"][0]["securityContext"] == {"privileged": True}
    assert not [volume for volume in spec["volumes"] if "hostPath" in volume]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchFields"][0]["values"] for term in terms] == [["a"], ["b"]]
    assert item["metadata"]["labels"][RUN_LABEL] == "r1"


def test_an_agent_that_comes_up_later_is_waited_for(agents: Agents, memory: Memory) -> None:
    memory.put(agent("a", waiting={}))
    memory.later = [lambda: memory.put(agent("a"))]
    assert agents.pod_on("a") == "agent-x"


def test_an_agent_that_does_not_come_up_is_an_error_of_the_shell(
    agents: Agents, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fixtures.cluster.nodes.agents._UP_LIMIT", 1e-9)
    memory.put(agent("a", waiting={"reason": "ImagePullBackOff"}))
    with pytest.raises(NodeShellError, match=r"no agent runs on a: .*ImagePullBackOff"):
        agents.pod_on("a")


def test_a_silent_stream_is_given_up_for_another_and_the_script_keeps_its_number(
    agents: Agents, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put(agent("a"))
    asked: list[tuple[str, float]] = []

    def silent_twice(*call: Any) -> Done:
        *_, command, limit = call
        asked.append((command[3], limit))
        if len(asked) < 3:
            raise Unheard(f"no end within {limit:.0f} s")
        return Done(0, "out", "")

    monkeypatch.setattr("fixtures.cluster.nodes.agents.execute", silent_twice)
    assert agents.ask("a", "true") == Done(0, "out", "")
    numbers, limits = {number for number, _ in asked}, [limit for _, limit in asked]
    assert len(numbers) == 1
    assert max(limits) <= EXEC_LIMIT / 3


class Policy:
    """What the API server says of a pod that is only asked for, and of the right to exec."""

    def __init__(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Object] = []
        self.refuses: Exception | None = None
        self.review = LET
        monkeypatch.setattr(memory, "create", self._create)
        monkeypatch.setattr(memory, "post", self._post)

    def _create(self, item: Object, *, dry_run: bool = False) -> Object:
        assert dry_run
        self.asked.append(item)
        if self.refuses:
            raise self.refuses
        return item

    def _post(self, path: str, body: Object) -> Object:
        assert path.endswith("selfsubjectaccessreviews")
        self.asked.append(body["spec"]["resourceAttributes"])
        return self.review


@pytest.fixture
def policy(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Policy:
    return Policy(memory, monkeypatch)


def test_a_cluster_that_allows_agents_refuses_nothing(agents: Agents, policy: Policy, memory: Memory) -> None:
    assert agents.refusal() is None
    pod, right, more = policy.asked
    assert pod["kind"] == "Pod"
    assert pod["spec"]["hostPID"] is True
    assert right == {"verb": "get", "resource": "pods", "subresource": "exec", "namespace": SPACE}
    assert more == right | {"verb": "create"}
    assert memory.done == [f"apply Namespace/{SPACE}"], "nothing else is made yet"


def test_what_policies_say_is_told(agents: Agents, policy: Policy, memory: Memory) -> None:
    policy.refuses = memory.problem(403)
    policy.refuses.body = '{"message": "pods \\"agent\\" is forbidden: violates PodSecurity"}'
    assert agents.refusal() == 'pods "agent" is forbidden: violates PodSecurity'


def test_trouble_is_no_refusal(agents: Agents, policy: Policy, memory: Memory) -> None:
    policy.refuses = memory.problem(503)
    with pytest.raises(type(policy.refuses)):
        agents.refusal()


def test_a_runner_that_may_not_exec_is_told(agents: Agents, policy: Policy) -> None:
    policy.review = {"status": {"allowed": False}}
    assert agents.refusal() == "the runner may not `get pods/exec`"


@pytest.mark.parametrize(("codes", "expected"), [([0, 0], True), ([0, 3], False)])
def test_a_script_answers_well_on_all_nodes_or_it_does_not(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, codes: list[int], expected: bool
) -> None:
    left = iter(codes)
    monkeypatch.setattr(Agents, "ask", lambda *_: Done(next(left), "", ""))
    assert answering(agents, "true") is expected


def handle(tmp_path: Path, docker: Path | None, *capabilities: str) -> ClusterHandle:
    return ClusterHandle("standard", "c", tmp_path, "1.37.2", (), frozenset(capabilities), None, docker, tmp_path)


def test_shells_are_by_docker_on_kind_and_by_agents_elsewhere(agents: Agents, memory: Memory, tmp_path: Path) -> None:
    root = Path("/root")
    on_kind = shells_on(["a"], handle(tmp_path, Path("docker"), "node-shell"), memory, root)
    assert on_kind == {"a": DockerShell("a", Path("docker"), kubelet_root=root)}
    agents.publish()
    elsewhere = shells_on(["b"], handle(tmp_path, None, "node-shell"), memory, root)
    assert elsewhere == {"b": AgentShell("b", agents, kubelet_root=root)}
    assert shells_on(["b"], handle(tmp_path, None), memory, root) == {}
