"""`python -m reports`: compare two reports, verify one, or print the schema of all."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from reports.data import JSON_NAME, YAML_NAME, UnreadableReport, load_report, schema
from reports.diff import difference
from reports.model import CatalogueError, Report
from reports.verify import verify

_USAGE = 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        _stop(message, f"`{self.prog} --help` tells how to call it")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns 0 (same, better, valid), 1 (worse, not valid) or 2 (usage)."""
    parser = _Parser(prog="python -m reports", description="Work with conformance reports.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="diff | verify | schema")
    report_help = f"a {YAML_NAME} or {JSON_NAME}, or the directory of a run"
    diff = commands.add_parser("diff", help="what changed from A to B; exit 1 when B is worse")
    diff.add_argument("before", metavar="A", type=Path, help=report_help)
    diff.add_argument("after", metavar="B", type=Path, help=report_help)
    check = commands.add_parser("verify", help="check a report that somebody sent; exit 1 when it does not hold")
    check.add_argument("file", metavar="FILE", type=Path, help=report_help)
    commands.add_parser("schema", help="print the JSON schema of a report")
    options = parser.parse_args(arguments)
    try:
        if options.command == "diff":
            return _diff(_load(options.before), _load(options.after))
        if options.command == "verify":
            return _verify(options.file)
    except OSError as error:
        _stop(f"{error.filename}: {error.strerror}", f"name {report_help}, like reports/out/<run>")
    except CatalogueError as error:
        _stop(str(error), "restore suites/catalogue.yaml, or verify outside the checkout")
    print(schema(), end="")
    return 0


def _diff(before: Report, after: Report) -> int:
    found = difference(before, after)
    for title, lines in found.sections.items():
        print(f"{title}:")
        for line in lines:
            print(f"  {line}")
    print("worse" if found.worse else "not worse")
    return 1 if found.worse else 0


def _verify(file: Path) -> int:
    found = verify(file)
    for problem in found.problems:
        print(f"wrong: {problem}")
    for note in found.notes:
        print(f"note : {note}")
    print("not valid" if found.problems else "valid")
    return 1 if found.problems else 0


def _load(path: Path) -> Report:
    try:
        return load_report(path)
    except UnreadableReport as unreadable:
        _stop(f"{path} is no report: {unreadable.problems[0]}", f"`python -m reports verify {path}` lists all faults")


def _stop(problem: str, remedy: str) -> NoReturn:
    print(f"error: {problem}\nremedy: {remedy}", file=sys.stderr)
    sys.exit(_USAGE)


if __name__ == "__main__":
    sys.exit(main())
