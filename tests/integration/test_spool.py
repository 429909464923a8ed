"""Where an upload is while it is read."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from app.main import close_app, create_app
from app.selections.form import open_upload, sweep_uploads
from app.settings import Settings
from tests.integration.samples import make_csv, make_rows, make_spec, make_submission

LONG_ROWS = [{"text": f"{row['text']} {'x' * 15_000}", "label": row["label"]} for row in make_rows() * 3]


@pytest.mark.parametrize("is_file", [True, False])
def test_upload_is_one_file_in_its_folder_until_the_answer(settings: Settings, is_file: bool) -> None:
    spool = settings.spool_dir
    assert spool is not None
    form = {"files": {"dataset": make_csv(LONG_ROWS)}, "data": {"spec": json.dumps(make_spec())}}
    whole = {"json": {**make_submission(), "examples": LONG_ROWS}}
    parts = httpx.Request("POST", "http://x", **(form if is_file else whole))  # type: ignore[arg-type]
    body = parts.read()
    found: list[list[Path]] = []

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 2**16):
            yield body[start : start + 2**16]
            found.append(list(spool.iterdir()))
            sweep_uploads(spool)  # as another process that starts

    async def submit() -> int:
        app = create_app(settings)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            headers = {"Content-Type": parts.headers["Content-Type"]}
            response = await client.post("/selections", content=chunks(), headers=headers)
        close_app(app)
        return response.status_code

    assert asyncio.run(submit()) == 202
    assert len(found[-1]) == 1
    assert list(spool.iterdir()) == []


def test_files_of_a_killed_process_are_swept_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "lens-upload-left").write_bytes(b"text,label\n")
    (tmp_path / "other").write_bytes(b"")
    with open_upload(tmp_path) as file:
        file.write(b"text")
        sweep_uploads(tmp_path)
        file.flush()
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([Path(file.name).name, "other"])
        assert Path(file.name).read_bytes() == b"text"
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_app_that_starts_sweeps_its_spool_folder(settings: Settings) -> None:
    assert settings.spool_dir is not None
    (settings.spool_dir / "lens-upload-left").write_bytes(b"text,label\n")
    app = create_app(settings)

    async def start() -> None:
        async with app.router.lifespan_context(app):
            pass

    asyncio.run(start())
    assert list(settings.spool_dir.iterdir()) == []
