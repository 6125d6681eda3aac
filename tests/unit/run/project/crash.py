"""A check that takes its process with it."""

from __future__ import annotations

import os

from fixtures.check.decorator import check


@check("scale.ends.badly", level="core", source="GP-7", hint="none")
def test_badly() -> None:
    """It ends its process."""
    os._exit(3)


@check("scale.ends.well", level="core", source="GP-7", hint="none")
def test_well() -> None:
    """It passes."""
