"""A check during which somebody presses Ctrl-C, or the process is asked to end."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from fixtures.check.decorator import check
from fixtures.options.options import Options


@check("liveness.ends.early", level="core", source="GP-5", hint="none")
def test_a_early() -> None:
    """It comes first."""


@check("liveness.ends.interrupted", level="core", source="GP-5", hint="none")
def test_b_interrupted(options: Options) -> None:
    """In its middle comes a signal to the process that the user started."""
    controller = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    name = Path(options.report_dir).name
    os.kill(controller, getattr(signal, name))
    threading.Event().wait(60)


@check("liveness.ends.never", level="core", source="GP-5", hint="none")
def test_c_never() -> None:
    """It would come last."""
