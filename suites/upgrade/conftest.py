"""The nouns that checks of the upgrade practice ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.driver.driver import Driver
from fixtures.upgrade.siblings import Siblings, siblings_of


@pytest.fixture
def siblings(driver: Driver) -> Iterator[Siblings]:
    """More instances of the driver beside the check's own, as many as the check asks for."""
    with siblings_of(driver) as made:
        yield made
