"""Hooks only: options, the run that a conformance session makes, and what can be asked instead of it."""

from __future__ import annotations

import pytest

from fixtures import run
from fixtures.options import options

pytest_plugins = ["fixtures.plugin"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option group `dra`."""
    options.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer `--dra-plan` and `--dra-doctor` instead of running anything."""
    return run.answer_instead(config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of checks and, when suites are run, the run itself."""
    config.addinivalue_line("markers", "dra_check(check): one conformance check; use fixtures.check.decorator.check")
    run.begin(config)
