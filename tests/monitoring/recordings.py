"""Series that a real load recorded, as input of promtool's rule tests."""

from __future__ import annotations

import gzip
import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STEP = 5
"""Seconds between two values of a series, as promtool takes them."""
_LINE = re.compile(r"(.+) (\S+) (\d+)$")


def input_series(recording: str) -> list[dict[str, str]]:
    """A recording's series with their values each few seconds from its first scrape on; `_` where none was read."""
    read: dict[str, dict[int, str]] = defaultdict(dict)
    lines = [_LINE.match(line) for line in gzip.decompress((HERE / recording).read_bytes()).decode().splitlines()]
    samples = [(match[1], match[2], int(match[3])) for match in lines if match]
    begun = min(at for _, _, at in samples)
    for series, value, at in samples:
        read[series][math.ceil((at - begun) / 1000 / STEP)] = value
    return [
        {"series": series, "values": " ".join(values.get(step, "_") for step in range(max(values) + 1))}
        for series, values in sorted(read.items())
    ]


def rule_test(recording: str, **checks: Any) -> dict[str, Any]:
    """A promtool test file about the rules over a recording."""
    test = {"interval": f"{STEP}s", "input_series": input_series(recording), **checks}
    return {"rule_files": ["rules.yaml"], "evaluation_interval": f"{STEP}s", "tests": [test]}
