"""The engine's wings import one way: each only from the floors below its own."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import lens_engine

ROOT = Path(lens_engine.__file__).parent
FLOORS = (
    ("types", "errors", "randomness", "disk", "version"),
    ("task", "config", "embeddings"),
    ("options", "retrieval"),
    ("presets", "plan", "scoring"),
    ("classifier", "local"),
    ("result", "servers", "cluster", "rows"),
    ("reading", "metering", "opening"),
    ("search", "show"),
    ("run", "exports"),
    ("pipeline", "testing", "suggestion", "evaluation"),
    ("estimator",),
)
"""From the ground up; wings and loose modules."""
FLOOR_OF = {wing: number for number, floor in enumerate(FLOORS) for wing in floor}
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


def wing_of(module: str) -> str:
    return module.split(".")[1]


def test_every_wing_and_loose_module_has_its_floor() -> None:
    assert {wing_of(name_of(path)) for path in MODULES} == set(FLOOR_OF)


@pytest.mark.parametrize("wing", FLOOR_OF)
def test_wing_imports_only_from_the_floors_below(wing: str) -> None:
    found = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in MODULES
        if wing_of(name_of(path)) == wing
        for module, _ in imports_of(path)
        if wing_of(module) != wing and FLOOR_OF[wing_of(module)] >= FLOOR_OF[wing]
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
