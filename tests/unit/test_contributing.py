"""What CONTRIBUTING.md says is true: its example, put into a copy of the repository, is a check with a saboteur."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reports.model import load_catalogue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
CHECK, SABOTEURS = "driver.slices.pool-named-after-node", {"anonymous-pool", "shared-pool-name"}
ADDED = re.compile(r"^`([^`]+)`, at its end:\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHANGED = re.compile(r"^`([^`]+)`:\n\n```diff\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = [
    "fixtures.catalogue",
    "pytest suites --collect-only -q",
    "pytest tests/unit/test_house.py tests/unit/test_catalogue.py",
    "pytest tests/unit/fake/test_faults.py -k anonymous-pool",
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as it is here, without what git ignores, with the example in it."""
    target = tmp_path_factory.mktemp("copy")
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in filter(lambda name: (ROOT / name).exists(), listed):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)
    for name, code in ADDED.findall(PAGE):
        with (target / name).open("a") as file:
            file.write(f"\n\n{code}")
    for name, lines in CHANGED.findall(PAGE):
        change(target / name, lines.splitlines(keepends=True))
    return target


def change(file: Path, lines: list[str]) -> None:
    """Make a change that is given as the lines of a diff without line numbers."""
    before, after = ("".join(line[1:] for line in lines if line[0] in marks) for marks in (" -", " +"))
    text = file.read_text()
    assert text.count(before) == 1, f"{file} has not, or not once:\n{before}"
    file.write_text(text.replace(before, after))


def run(copy: Path, command: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRA_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=copy,
        env=environment | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


def test_every_block_of_code_on_the_page_says_where_it_goes() -> None:
    assert len(ADDED.findall(PAGE)) == PAGE.count("```python") >= 4
    assert len(CHANGED.findall(PAGE)) == PAGE.count("```diff") >= 2


def test_the_example_becomes_a_check_with_its_saboteurs(copy: Path) -> None:
    said = [run(copy, command) for command in COMMANDS]
    assert all(f"$ python -m {command}\n" in PAGE for command in COMMANDS)
    assert "suites/driver/test_slices.py::test_pool_named_after_node" in said[1]
    entries = {entry.id: entry for entry in load_catalogue(copy / "suites" / "catalogue.yaml")}
    assert set(entries[CHECK].saboteurs) == SABOTEURS
    assert f"## {CHECK}\n" in (copy / "suites" / "driver" / "README.md").read_text()
    assert entries.keys() - {CHECK} == {entry.id for entry in load_catalogue(ROOT / "suites" / "catalogue.yaml")}
