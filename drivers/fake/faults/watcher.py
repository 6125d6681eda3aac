"""The watcher of `unregisters-when-hung`: `python3 -m drivers.fake.faults.watcher PID SOCKET`, until its input ends.

It says so when it is at work, and removes the socket once the process is stopped.
"""

from __future__ import annotations

import select
import sys
from pathlib import Path

# Short, as what is stopped may be killed a moment later, and the watcher in its container with it.
PERIOD_SECONDS = 0.02


def main() -> None:
    """Watch the process that the arguments name."""
    status, path = Path(f"/proc/{sys.argv[1]}/stat"), Path(sys.argv[2])
    print("at work", flush=True)
    while not select.select([sys.stdin], [], [], PERIOD_SECONDS)[0]:
        if status.read_text().rpartition(")")[2].split()[0] == "T":
            path.unlink(missing_ok=True)
            return


if __name__ == "__main__":
    main()
