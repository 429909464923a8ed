"""The blocking modules of the client are those that the script writes from the modules for asyncio."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "lens_client"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci/blocking_client.py"))


def test_blocking_modules_are_as_the_script_writes_them(script: dict[str, Any]) -> None:
    written = script["write_blocking_modules"]()
    stale = [path.name for path, text in written.items() if not path.exists() or path.read_text("utf-8") != text]
    assert stale == [], "run `python .ci/blocking_client.py`"
    made = {path for path in CLIENT.glob("*.py") if path.read_text("utf-8").startswith("# Made from ")}
    assert made == set(written)


def test_blocking_modules_have_nothing_of_asyncio() -> None:
    for source in CLIENT.glob("async_*.py"):
        text = source.with_name(source.name.removeprefix("async_")).read_text("utf-8")
        assert "async" not in text.partition("\n")[2].lower()
