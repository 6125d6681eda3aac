"""A run needs no more rights than the printed role gives, and with less it says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fixtures.check.collected import SUITES
from fixtures.rbac.personas.identities import token
from fixtures.rights.right import RBAC

if TYPE_CHECKING:
    from tests.existing.conftest import ByHand
    from tests.runs import Suite

Object = dict[str, Any]
NAME, NAMESPACE = "smallest", "default"
CHECK = "driver.prepare.device-visible"
TAKEN = "patch daemonsets.apps"


def printed_role(*words: str) -> Object:
    command = [sys.executable, "-m", "fixtures.rights", f"--name={NAME}", *words]
    done = subprocess.run(command, cwd=SUITES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    role: Object = yaml.safe_load(done.stdout)
    return role


@pytest.fixture
def runner_with(by_hand: ByHand, tmp_path: Path) -> Callable[[Object], Any]:
    """A context manager: the kubeconfig of a ServiceAccount that has one role and nothing else."""

    @contextmanager
    def runner(role: Object) -> Iterator[Path]:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": NAMESPACE}}
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": NAME},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        }
        made: tuple[Object, ...] = (role, binding, account)
        try:
            for item in made:
                by_hand.kube.create(item)
            content = yaml.safe_load(by_hand.kubeconfig.read_text())
            content["users"][0]["user"] = {"token": token(by_hand.kube, NAMESPACE, NAME)}
            kubeconfig = tmp_path / "smallest.kubeconfig"
            kubeconfig.write_text(yaml.safe_dump(content))
            yield kubeconfig
        finally:
            for item in made:
                by_hand.kube.delete(item["kind"], NAME, item["metadata"].get("namespace"))

    return runner


def test_the_printed_role_is_enough(suite: Suite, runner_with: Callable[[Object], Any]) -> None:
    with runner_with(printed_role()) as kubeconfig:
        done = suite.run(f"--dra-kubeconfig={kubeconfig}", "-n4", "--dist=worksteal")
    assert done.report
    wrong = {
        check.id: (check.outcome, check.reason or (check.failure and check.failure.observed))
        for check in done.report.checks
        if check.outcome not in ("passed", "not-applicable", "not-supported")
    }
    assert wrong == {}
    assert (done.report.verdict, done.code) == ("conformant", 0)


def test_without_one_verb_a_check_is_inconclusive_and_says_which(
    suite: Suite, runner_with: Callable[[Object], Any]
) -> None:
    role = printed_role(f"--check={CHECK}")
    verb, _, resource = TAKEN.partition(" ")
    plural, _, group = resource.partition(".")
    for rule in [rule for rule in role["rules"] if plural in rule["resources"] and rule["apiGroups"] == [group]]:
        rule["resources"].remove(plural)
        rest = [other for other in rule["verbs"] if other != verb]
        role["rules"].append({"apiGroups": [group], "resources": [plural], "verbs": rest})
    role["rules"] = [rule for rule in role["rules"] if rule.get("resources", True)]
    with runner_with(role) as kubeconfig:
        done = suite.run(f"--dra-kubeconfig={kubeconfig}", f"--dra-check={CHECK}", "-n0")
    assert done.report
    check = next(check for check in done.report.checks if check.id == CHECK)
    assert (check.outcome, check.reason) == ("inconclusive", f"the runner lacks the right to {TAKEN}")
    assert done.code == 3
