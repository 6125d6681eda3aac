"""A suite in which each check ends differently."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fixtures.check.decorator import Test, check
from fixtures.check.outcomes import CheckFailed, expect, inconclusive, not_applicable
from fixtures.driver.check_run import CheckRun
from fixtures.kube.api import Refused
from fixtures.recorder.facts import PodFacts
from fixtures.recorder.seen import Seen
from fixtures.run.worker import WAITED
from reports.model import Measurement


def simple(name: str, **more: Any) -> Callable[[Test], Test]:
    return check(f"rbac.ends.{name}", level="core", source="GP-1", hint=f"the remedy of {name}", **more)


@pytest.fixture
def fails() -> None:
    raise CheckFailed("a driver", "none came up")


@pytest.fixture
def breaks() -> None:
    raise RuntimeError("no such file")


@pytest.fixture
def breaks_late() -> Iterator[None]:
    yield
    raise RuntimeError("it is still there")


@pytest.fixture
def fails_late() -> Iterator[None]:
    yield
    raise CheckFailed("pods gone", "some stay")


@pytest.fixture
def leased(request: pytest.FixtureRequest) -> None:
    request.node.stash[WAITED] = 1.0
    threading.Event().wait(1.0)


@simple("waited")
@pytest.mark.usefixtures("leased")
def test_waited() -> None:
    """It waits until others leave it the cluster."""


@simple("passed")
def test_passed() -> None:
    """It passes."""


@simple("failed")
def test_failed() -> None:
    """It fails in the call."""
    expect([], "a device", "none", "on node-1")


@simple("failed-in-setup")
def test_failed_in_setup(fails: None) -> None:
    """It fails in a fixture."""


@simple("raised")
def test_raised() -> None:
    """It stumbles over the suite."""
    raise RuntimeError("no such key")


@simple("refused")
def test_refused() -> None:
    """It asks for what the runner may not do."""
    raise Refused(SimpleNamespace(status=403, reason="Forbidden", body='{"message": "no pods for you"}', headers={}))  # type: ignore[no-untyped-call]


@simple("forbidden")
def test_forbidden() -> None:
    """It asks for what a policy of the cluster forbids."""
    body = '{"message": "pods \\"p\\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2"}'
    raise Refused(SimpleNamespace(status=403, reason="Forbidden", body=body, headers={}))  # type: ignore[no-untyped-call]


@simple("asserted")
def test_asserted() -> None:
    """It stumbles over an assumption."""
    assert [] == [1], "an assumption of the suite"


@simple("raised-in-setup")
def test_raised_in_setup(breaks: None) -> None:
    """It stumbles in a fixture."""


@simple("raised-in-teardown")
def test_raised_in_teardown(breaks_late: None) -> None:
    """It cannot clean up."""


@simple("failed-in-teardown")
def test_failed_in_teardown(fails_late: None) -> None:
    """What it waits for in cleaning up does not come."""


@simple("failed-then-raised")
def test_failed_then_raised(breaks_late: None) -> None:  # noqa: ARG001 - as another check would
    """It fails, and cannot clean up either."""
    expect(False, "a device", "none")


@simple("skipped")
def test_skipped() -> None:
    """It skips without one of our words."""
    pytest.skip("no time")  # noqa: TID251 - what happens then is the question


@simple("inconclusive")
def test_inconclusive() -> None:
    """It cannot tell."""
    inconclusive("one node only")


@simple("not-applicable")
def test_not_applicable() -> None:
    """It is not for this place."""
    not_applicable("too old")


@simple("not-supported", features=("rolling-update",))
def test_not_supported() -> None:
    """It needs a feature that the manifest declares unsupported."""
    raise AssertionError


@simple("fake-only", fake=True)
def test_fake_only() -> None:
    """It needs the fake driver."""
    raise AssertionError


@simple("exempt")
def test_exempt(breaks: None) -> None:
    """The operator left it out."""


@simple("invariant-broken")
def test_invariant_broken(check_run: CheckRun) -> None:
    """It passes, but the recorder saw something."""
    row = {"at": check_run.recorder.started, "namespace": "ns", "drivers": [], "text": "claim x holds too much"}
    with (check_run.handle.state / "recorder" / "violations.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


@simple("explained", disturbs="node")
def test_explained(check_run: CheckRun) -> None:
    """It fails in a place of its own, which is looked at."""
    check_run.measurements.append(Measurement(name="pods", value=3, unit="pods"))
    facts = PodFacts("Running", ready=True)
    seen = Seen(check_run.recorder.started + 1, "Pod", "ADDED", "ns", "p", "u", terminating=False, facts=facts)
    with (check_run.handle.state / "recorder" / "events.jsonl").open("a") as file:
        file.write(seen.to_json() + "\n")
    expect(False, "a device", "none")


@simple("passed-unexplained", disturbs="node")
def test_passed_unexplained(check_run: CheckRun) -> None:
    """It passes, but the recorder's file is lost."""
    (check_run.handle.state / "recorder" / "events.jsonl").unlink()


@simple("failed-unexplained")
def test_failed_unexplained(check_run: CheckRun) -> None:
    """It fails, and the recorder's file is lost."""
    (check_run.handle.state / "recorder" / "events.jsonl").unlink()
    expect(False, "a device", "none")


@simple("meddled-with")
def test_meddled_with(check_run: CheckRun) -> None:
    """It fails since somebody else changed what it had changed."""
    check_run.driver = cast("Any", SimpleNamespace(meddled=lambda: ["DaemonSet driver was changed by flux"]))
    expect(False, "no pod", "one")


@simple("meddled-with-unseen")
def test_meddled_with_unseen(check_run: CheckRun) -> None:
    """It passes, and yet somebody else changed what it had changed."""
    check_run.driver = cast("Any", SimpleNamespace(meddled=lambda: ["DaemonSet driver was changed by flux"]))


def test_that_is_no_check() -> None:
    raise AssertionError
