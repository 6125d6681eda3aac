"""List the saboteurs."""

from __future__ import annotations

import argparse
import json

from drivers.saboteurs import REGISTRY


def main() -> None:
    """List the saboteurs."""
    parser = argparse.ArgumentParser(prog="python -m drivers.saboteurs", description=main.__doc__)
    parser.add_argument("--json", action="store_true", help="for machines")
    rows = [{"id": s.id, "layer": s.layer, "plants": s.plants, "breaks": s.breaks} for s in REGISTRY.values()]
    if parser.parse_args().json:
        print(json.dumps(rows, indent=2))
        return
    for s in REGISTRY.values():
        print(f"{s.id}  ({s.layer})\n    plants: {s.plants}\n    breaks: {', '.join(s.breaks)}")


if __name__ == "__main__":
    main()
