"""The nouns that checks of the upgrade practice ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.driver.driver import Driver
from fixtures.upgrade.extra_instances import ExtraInstances, extra_instances_of


@pytest.fixture
def extra_instances(driver: Driver) -> Iterator[ExtraInstances]:
    """More instances of the driver beside the check's own, as many as the check asks for."""
    with extra_instances_of(driver) as made:
        yield made
