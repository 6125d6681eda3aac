"""The rules of the house: which room knows which, how long a module is, and what a suite never does."""

from __future__ import annotations

import ast
import functools
import graphlib
import subprocess
import sys
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
# The rooms of `fixtures`, from the ground up, in steps: a module imports from its own room or from a lower step, never
# from above or beside it. Imports inside functions and under TYPE_CHECKING count.
STEPS = (
    # the ground
    ("check",),
    ("kube",),
    ("cluster", "recorder"),
    ("options",),
    # a thing acted on
    ("driver",),
    ("workload",),
    # a practice
    ("rbac", "upgrade", "liveness", "drain", "scale"),
    ("drain_checks",),
    # a run
    ("rights",),
    ("plan", "incluster"),
    ("doctor",),
    ("run",),
    # what is asked for by name: the shared pytest fixtures and the commands
    ("plugin", "bench", "images", "catalogue"),
)
HEIGHT = {room: height for height, step in enumerate(STEPS) for room in step}
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


@pytest.mark.parametrize("room", HEIGHT)
def test_a_room_of_the_fixtures_knows_only_lower_ones(room: str) -> None:
    strangers = [
        f"{module} imports {name}"
        for module in modules_of["fixtures"]
        if module.parts[1].removesuffix(".py") == room
        for name in imports(module)
        if (known := (*name.split("."), "")[1]) in HEIGHT and name.startswith("fixtures.")
        if known != room and HEIGHT[known] >= HEIGHT[room]
    ]
    assert not strangers


def test_every_module_of_the_fixtures_lies_in_a_room() -> None:
    rooms = {module.parts[1].removesuffix(".py") for module in modules_of["fixtures"]} - {"__init__"}
    assert rooms == HEIGHT.keys()
    assert sum(len(module.parts) == 2 for module in modules_of["fixtures"]) <= 5


def test_no_module_knows_itself_by_way_of_others() -> None:
    paths = {".".join(module.with_suffix("").parts).removesuffix(".__init__"): module for module in MODULES}
    known = {
        name: {m for found in imports(module) for m in (found, found.rpartition(".")[0]) if m in paths and m != name}
        for name, module in paths.items()
        if module.parts[0] in KNOWS
    }
    for name, found in known.items():  # a package is named whenever one of its modules is
        known[name] = {m for m in found if not any(other.startswith(f"{m}.") for other in found)}
    assert list(graphlib.TopologicalSorter(known).static_order())


def test_the_drain_is_a_tool_of_its_own() -> None:
    loaded = {name for name in _loaded_by("fixtures.drain.__main__") if name.startswith(("fixtures.", "drivers"))}
    assert {name.split(".")[1] for name in loaded} == {"drain", "kube"}
    assert len(loaded) <= 16


def _loaded_by(module: str) -> list[str]:
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


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
    assert "fixtures.check.decorator.check" in set(imports(Path("suites/rbac/test_operator.py")))
