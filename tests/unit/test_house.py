"""The rules of the house: who knows whom, how long a module is, and what a suite never does."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("suites", "fixtures", "drivers", "reports", "tests")
LONGEST = 320
# Each room and the rooms below it.
KNOWS = {
    "suites": {"suites", "fixtures", "drivers", "reports"},
    "fixtures": {"fixtures", "drivers", "reports"},
    "drivers": {"drivers"},
    "reports": {"reports"},
}
MODULES = sorted(
    path.relative_to(ROOT)
    for room in ROOMS
    for path in (ROOT / room).rglob("*.py")
    if "_pb2" not in path.name and "out" not in path.parts
)
modules_of = {room: [path for path in MODULES if path.parts[0] == room] for room in ROOMS}


@functools.cache
def tree(module: Path) -> ast.Module:
    return ast.parse((ROOT / module).read_text(), str(module))


def imports(module: Path) -> Iterator[str]:
    """Dotted names that a module imports, anywhere in it."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def calls(module: Path) -> Iterator[str]:
    """Dotted names that a module calls."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            yield ast.unparse(node.func)


@pytest.mark.parametrize("room", KNOWS)
def test_a_room_knows_only_those_below_it(room: str) -> None:
    rooms = set(ROOMS)
    strangers = [
        f"{module} imports {name}"
        for module in modules_of[room]
        for name in imports(module)
        if (known := name.partition(".")[0]) in rooms and known not in KNOWS[room]
    ]
    assert not strangers


@pytest.mark.parametrize("module", modules_of["suites"], ids=str)
def test_a_suite_leaves_the_how_to_fixtures(module: Path) -> None:
    tools = {"kubernetes", "subprocess", "grpc", "socket", "urllib3", "requests", "threading", "os", "asyncio"}
    assert not tools & {name.partition(".")[0] for name in imports(module)}
    names = set(imports(module)) | set(calls(module))
    assert not {"time.sleep", "sleep", "pytest.skip", "pytest.xfail", "pytest.importorskip"} & names


@pytest.mark.parametrize("module", modules_of["suites"], ids=str)
def test_every_test_of_a_suite_is_a_check_with_a_claim(module: Path) -> None:
    for node in tree(module).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            decorators = [ast.unparse(d.func) for d in node.decorator_list if isinstance(d, ast.Call)]
            assert decorators == ["check"], f"{module}: {node.name}"
            assert ast.get_docstring(node), f"{module}: {node.name} has no claim"


@pytest.mark.parametrize("room", KNOWS)
def test_a_module_is_one_idea_and_not_too_long(room: str) -> None:
    lengths = {str(module): len((ROOT / module).read_text().splitlines()) for module in modules_of[room]}
    assert not {module: length for module, length in lengths.items() if length > LONGEST}


@pytest.mark.parametrize("room", ["fixtures", "drivers", "reports"])
def test_a_package_says_what_it_is_for(room: str) -> None:
    silent = [str(module) for module in modules_of[room] if not ast.get_docstring(tree(module))]
    assert not silent


def test_the_rules_look_at_something() -> None:
    assert all(modules_of[room] for room in ROOMS)
    assert "fixtures.checks.check" in set(imports(Path("suites/rbac/test_operator.py")))
