"""A practice that is kept."""

from __future__ import annotations

from fixtures.checks import check
from fixtures.scene import Scene


@check("drain.order.kept", level="core", source="GP-6", hint="nothing to do")
def test_kept() -> None:
    """It is kept."""


@check("drain.order.seen", level="core", source="GP-6", hint="nothing to do")
def test_seen(scene: Scene) -> None:
    """It is kept, in a place of its own."""
    assert scene.namespace == "ns"
