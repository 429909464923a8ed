from pathlib import Path

import pytest

from tests.unit.lens_engine.model.servers.conftest import connect, double  # noqa: F401


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path))
