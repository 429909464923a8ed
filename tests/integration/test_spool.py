"""Where an upload is while it is read."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from app.main import close_app, create_app
from app.settings import Settings
from tests.integration.samples import make_csv, make_rows, make_spec
from tests.open_files import list_open_files, needs_proc

LONG_ROWS = [{"text": f"{row['text']} {'x' * 15_000}", "label": row["label"]} for row in make_rows() * 3]
"""More than the megabyte that is kept in memory."""


def open_files_in(folder: Path) -> list[str]:
    """The files in a folder that this process has open, also those without a name."""
    return [name for name in list_open_files() if name.startswith(f"{folder}/")]


@needs_proc
def test_upload_is_once_on_disk_in_the_folder_of_the_settings_and_without_a_name(settings: Settings) -> None:
    spool = settings.spool_dir
    assert spool is not None
    parts = httpx.Request(
        "POST", "http://x", files={"dataset": make_csv(LONG_ROWS)}, data={"spec": json.dumps(make_spec())}
    )
    body = parts.read()
    found: list[list[str]] = []

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 2**16):
            yield body[start : start + 2**16]
            found.append(open_files_in(spool))
            assert list(spool.iterdir()) == []

    async def submit() -> int:
        app = create_app(settings)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            headers = {"Content-Type": parts.headers["Content-Type"]}
            response = await client.post("/selections", content=chunks(), headers=headers)
        close_app(app)
        return response.status_code

    assert asyncio.run(submit()) == 202
    assert found[0] == []
    assert len(found[-1]) == 1
    assert open_files_in(spool) == []
