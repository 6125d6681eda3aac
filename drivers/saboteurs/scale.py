"""Saboteurs of what is monitored."""

from __future__ import annotations

from drivers.saboteurs.model import Saboteur, driver

SABOTEURS: tuple[Saboteur, ...] = (
    driver(
        "no-metrics",
        "the driver does not expose its DRA metrics",
        "scale.metrics.exposed",
    ),
)
