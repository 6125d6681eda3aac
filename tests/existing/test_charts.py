"""A chart under a fixed name in a cluster of somebody else: the suite installs it, rolls it out, and leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from drivers.loading import load
from fixtures.cluster.node_image.workshop import building_alone
from fixtures.cluster.tools import provide
from tests.shapes.layout import lay_out

if TYPE_CHECKING:
    from tests.existing.conftest import ByHand, Everything
    from tests.runs import Suite

CHECKS = ("driver.registration.registers", "upgrade.seamless.rollback", "liveness.restart.socket-lost")
PLACES = "/var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry /var/run/cdi"


def files(by_hand: ByHand, name: str) -> list[str]:
    """Files of a driver on all nodes."""
    find = f"find {PLACES} -name '*{name}*' 2>/dev/null || true"
    found = [by_hand.commands.run(["docker", "exec", n, "sh", "-c", find], limit=60) for n in by_hand.nodes()]
    return [path for text in found for path in text.split()]


def test_a_chart_that_the_suite_installs_and_rolls_out_leaves_nothing(
    by_hand: ByHand, suite: Suite, look: Callable[[], Everything], tmp_path: Path
) -> None:
    file = str(lay_out(tmp_path / "shapes")["surge"])
    with building_alone("shapes", print):
        provide(load(file), print)
    before = look()
    done = suite.run(*by_hand.disturbing(), f"--dra-driver={file}", f"--dra-check={','.join(CHECKS)}", "-n2")
    assert {name: done.outcomes()[name] for name in CHECKS} == dict.fromkeys(CHECKS, "passed")
    assert done.report
    assert done.report.leftovers == ()
    assert before.changes(look()) == []
    assert files(by_hand, "surge.shape.example") == []
