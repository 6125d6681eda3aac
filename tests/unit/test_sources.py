"""What the repository cites can be found: in itself, or in public."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from reports.clauses import CLAUSES, load_clauses

ROOT = Path(__file__).parents[2]
PRIVATE = re.compile(r"\bDESIGN,? (section )?\d|\bcontracts? \d|\bcontracts: |\bbug-reports\b", re.IGNORECASE)
CLAUSE = re.compile(r"\bGP-\d+[a-z]?")


@pytest.fixture(scope="module")
def tracked() -> dict[str, str]:
    """Every text file of the checkout that git knows, but this one, by its path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    texts = {}
    for name in {*listed.stdout.split("\0")} - {"", str(Path(__file__).relative_to(ROOT))}:
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" not in content:
            texts[name] = content.decode("utf-8", errors="replace")
    return texts


def test_nothing_cites_a_document_that_is_not_here(tracked: dict[str, str]) -> None:
    cited = [
        f"{name}:{number}: {line.strip()}"
        for name, text in tracked.items()
        for number, line in enumerate(text.splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert not cited


@pytest.mark.parametrize("text", ["(DESIGN 8)", "see DESIGN section 3", "contracts 4.5", "(contracts: policy.go)"])
def test_a_document_that_is_not_here_would_be_noticed(text: str) -> None:
    assert PRIVATE.search(text)


def test_every_clause_that_is_cited_is_in_the_file_of_clauses(tracked: dict[str, str]) -> None:
    unknown = {
        f"{name}: {cited}"
        for name, text in tracked.items()
        if not name.startswith("tests/unit/")
        for cited in CLAUSE.findall(text)
        if cited not in load_clauses()
    }
    assert not unknown


def test_a_module_that_cites_a_clause_says_where_the_clauses_are(tracked: dict[str, str]) -> None:
    file = str(CLAUSES.relative_to(ROOT))
    silent = [
        name
        for name, text in tracked.items()
        if name.startswith(("fixtures/", "drivers/", "reports/")) and name.endswith(".py")
        if CLAUSE.search(text) and file not in text and name != "reports/clauses.py"
    ]
    assert not silent
