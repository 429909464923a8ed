"""The engine's rooms import one way: each only from the floors below its own."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import lens_engine

ROOT = Path(lens_engine.__file__).parent
FLOORS = (
    ("types", "errors", "randomness", "disk", "config", "version"),
    ("prompt", "options"),
    ("model", "presets"),
    ("model.local.executors", "rows"),
    ("model.local", "classifier", "files"),
    ("model.cluster", "model.servers", "result", "testing"),
    ("metering", "opening"),
    ("method", "show"),
    ("run", "evaluation"),
)
"""From the ground up; rooms (folders) and loose modules."""
FLOOR_OF = {room: number for number, floor in enumerate(FLOORS) for room in floor}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def name_of(path: Path) -> str:
    parts = ("lens_engine", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """Modules of the engine that a file imports, each with the name it takes."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lens_engine."):
            for alias in node.names:
                yield node.module, alias.name


def room_of(module: str) -> str:
    parts = module.split(".")[1:]
    while parts[:-1] and not ROOT.joinpath(*parts).is_dir():
        parts.pop()
    return ".".join(parts)


def test_every_room_and_loose_module_has_its_floor() -> None:
    assert {room_of(name_of(path)) for path in MODULES} == set(FLOOR_OF)


@pytest.mark.parametrize("room", FLOOR_OF)
def test_room_imports_only_from_the_floors_below(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in MODULES
        if room_of(name_of(path)) == room
        for module, name in imports_of(path)
        for target in [room_of(f"{module}.{name}" if ROOT.joinpath(*module.split(".")[1:], name).is_dir() else module)]
        if target != room and FLOOR_OF[target] >= FLOOR_OF[room]
    ]
    assert found == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Neither behind TYPE_CHECKING nor by late imports."""
    names = {name_of(path) for path in MODULES}
    graph = {
        name_of(path): {
            target for module, name in imports_of(path) for target in (f"{module}.{name}", module) if target in names
        }
        for path in MODULES
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(names)
