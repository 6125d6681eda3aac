"""Run one instance of the driver until it is told to stop (SIGTERM or SIGINT).

Exit codes: 0 stopped in good order, 2 wrong environment, 65 unusable state file; the last line of the log says why.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading

from drivers.fake.driver import Driver
from drivers.fake.kube import Api, KubeApi
from drivers.fake.settings import Settings, SettingsError
from drivers.fake.state import StateError
from drivers.fake.supervision import Supervision

EXIT_SETTINGS = 2
EXIT_STATE = 65
_LOOK_SECONDS = 1.0

_LOG = logging.getLogger("drivers.fake")


def run(settings: Settings, api: Api) -> int:
    """Run an instance against an API server; returns the exit code."""
    told_to_stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told_to_stop.set())
    try:
        driver = Driver(settings, api)
        driver.start()
    except SettingsError as error:
        _LOG.critical("%s", error)
        return EXIT_SETTINGS
    except StateError as error:
        _LOG.critical("%s", error)
        return EXIT_STATE
    supervision = Supervision.from_env(os.environ, driver)
    supervision.start()
    while not told_to_stop.wait(_LOOK_SECONDS):
        pass  # a signal that comes just before an endless wait begins would not end it
    _LOG.info("stopping")
    supervision.stop()
    driver.stop()
    return 0


def main() -> int:
    """Run an instance as the environment describes it; returns the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        return run(Settings.from_env(os.environ), KubeApi.from_env(os.environ))
    except SettingsError as error:
        _LOG.critical("%s", error)
        return EXIT_SETTINGS


if __name__ == "__main__":
    sys.exit(main())
