"""The named alternative: the same framework, server and pool, and one SELECT a request."""

import sys

import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import text

from app.settings import Settings
from app.store.database import create_database
from lens_cli.service.commands import GRACEFUL_SHUTDOWN_SECONDS, KEEP_ALIVE_SECONDS

_ONE = text("SELECT id, status FROM jobs WHERE id = :id")


def create_bare_app() -> FastAPI:
    """An application that answers at the addresses of Lens, and does what no service can leave out."""
    app = FastAPI()
    database = create_database(Settings())

    @app.get("/selections/{selection_id}")
    def get_selection(selection_id: str) -> dict[str, str | None]:
        with database.session_scope() as session:
            row = session.execute(_ONE, {"id": selection_id}).one_or_none()
        return {"id": selection_id, "status": row.status if row else None}

    @app.post("/selections", status_code=202)
    async def submit_selection(request: Request) -> dict[str, int]:
        if request.headers.get("Content-Type", "").startswith("multipart/form-data"):
            async with request.form() as form:
                found = len(form)
        else:
            found = len(await request.json())
        await run_in_threadpool(get_selection, "none")
        return {"members": found}

    return app


if __name__ == "__main__":
    uvicorn.run(
        create_bare_app(),
        port=int(sys.argv[1]),
        log_config=None,
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_SECONDS,
        server_header=False,
    )
