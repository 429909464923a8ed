"""Imports point one way, and the API process never loads torch."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PACKAGES = ("app", "lens_cli", "lens_client", "worker", "lab")
"""Those without floors: tests/unit/lens_engine/test_floors.py knows more of the engine."""

FORBIDDEN = {
    "lens_engine": {
        *("app", "lens_cli", "worker", "lab", "migrations"),
        *("fastapi", "starlette", "sqlalchemy", "alembic", "psycopg", "redis", "rq"),
    },
    "app": {"lens_cli", "worker", "lab", "torch", "transformers", "safetensors", "gguf"},
    "lens_cli": {"worker", "lab", "torch", "transformers", "safetensors", "gguf"},
    "worker": {"lens_cli", "lab", "fastapi", "starlette", "uvicorn"},
    "lab/experiments": {"app", "lens_cli", "worker", "transformers"},
    "lab/rivals": {"app", "lens_cli", "worker", "transformers"},
}
"""What no module of a package may import when it is imported itself."""

# (module, the only files that may import it)
CONFINED = [
    ("rq", {"app/store/queue.py", "worker/*"}),
    ("transformers", {"lens_engine/model/local/*"}),
    ("pydantic_settings", {"app/settings.py", "app/model_settings.py"}),
]


def modules_of(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports_of(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Imported top-level names, the line, and whether the import happens inside a function."""
    tree = ast.parse(path.read_text())
    inside = {id(node) for scope in ast.walk(tree) if isinstance(scope, ast.FunctionDef) for node in ast.walk(scope)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        else:
            continue
        for name in names:
            yield name.partition(".")[0], node.lineno, id(node) in inside


@pytest.mark.parametrize("package", FORBIDDEN)
def test_package_imports_nothing_it_must_not_know(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules_of(package)
        for name, line, is_inside in imports_of(path)
        if name in FORBIDDEN[package]
        and not (is_inside and package == "lens_cli")
        and not (name in ("starlette", "uvicorn") and path == ROOT / "worker/answering.py")  # a server
    ]
    assert found == []


@pytest.mark.parametrize(("module", "places"), CONFINED, ids=[module for module, _ in CONFINED])
def test_module_is_imported_where_it_belongs_only(module: str, places: set[str]) -> None:
    found = [
        str(path.relative_to(ROOT))
        for package in FORBIDDEN
        for path in modules_of(package)
        if any(name == module for name, _, _ in imports_of(path))
        and not any(path.relative_to(ROOT).match(place) for place in places)
    ]
    assert found == []


def test_api_process_never_loads_torch_and_connects_to_nothing_before_a_request() -> None:
    script = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('an import opened a connection')\n"
        "socket.socket.connect = refuse\n"
        "import app.main, app.store.schema, app.lifecycle.sweep, lens_cli, lens_engine.run.pipeline\n"
        "app.main.create_app().openapi()\n"
        "print(*({'torch', 'transformers', 'worker'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_worker_does_not_load_the_web_framework_to_claim_a_selection() -> None:
    """A work-horse that claims too late is killed, and these imports take seconds on a busy machine."""
    script = (
        "import app.lifecycle.spec, app.lifecycle.claims, sys\nprint(*({'fastapi', 'starlette'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == ""


def test_only_the_session_scope_commits() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("app", "worker")
        for path in modules_of(package)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit"
    ]
    assert found == []


def test_only_settings_read_variables_of_ours() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules_of("app")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Subscript | ast.Call)
        and re.search(r"environ(\.get\(|\[)'LENS_|getenv\('LENS_", ast.unparse(node))
    ]
    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_imports_one_that_imports_it(package: str) -> None:
    """Folders and loose modules, by way of any others too. A late import counts."""
    graph: dict[str, set[str]] = {}
    for path in modules_of(package):
        own = graph.setdefault(path.relative_to(ROOT / package).with_suffix("").parts[0], set())
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
                own.add(str(node.module).split(".")[1])
    without_itself = {folder: imported - {folder} for folder, imported in graph.items()}

    assert len(list(TopologicalSorter(without_itself).static_order())) >= len(graph)


def test_client_needs_httpx_and_pydantic_alone() -> None:
    allowed = {"httpx", "pydantic", "lens_client", *sys.stdlib_module_names}
    paths = modules_of("lens_client")
    assert paths
    assert {name for path in paths for name, _, _ in imports_of(path)} <= allowed
    project = tomllib.loads((ROOT / "lens_client/pyproject.toml").read_text())["project"]
    assert [one.partition(">")[0] for one in project["dependencies"]] == ["httpx", "pydantic"]
