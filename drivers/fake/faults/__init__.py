"""The planted faults, by id, and the switches that turn them on, at the start (FAULTS) or at run time.

One module per theme; `registry` is where they enter themselves, `switches` what combines them into a behaviour.
"""

from drivers.fake.faults import health, prepare, registration, slices, sockets, state  # noqa: F401  they enter themselves
from drivers.fake.faults.registry import FAULTS, Fault
from drivers.fake.faults.switches import Switches

__all__ = ["FAULTS", "Fault", "Switches"]
