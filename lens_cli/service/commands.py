"""`lens serve`, `lens worker`, `lens answers` and `lens migrate`: the service's processes, one command each."""

import os
import sys
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lens_cli.refusals import Refusal, RefusedInput, read_settings

if TYPE_CHECKING:
    from app.settings import Settings

KEEP_ALIVE_SECONDS = 75
"""Longer than the pause between two polls of a client. Uvicorn's default of 5 s cuts off polls."""
DRAIN_SECONDS = 5.0
GRACEFUL_SHUTDOWN_SECONDS = 20
MAX_CONNECTIONS = 2500  #: further requests get 503, so that the accepted ones stay fast


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; another than this machine's own needs API keys.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    max_connections: Annotated[
        int, typer.Option(min=1, help="Maximum number of connections; further ones get 503.")
    ] = MAX_CONNECTIONS,
    drain_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            help="Time between SIGTERM and the stop (seconds). /readyz answers 503 in it, and all requests are served.",
        ),
    ] = DRAIN_SECONDS,
) -> None:
    """Serve the HTTP API. LENS_DATABASE_URL and LENS_REDIS_URL name Postgres and Redis."""
    import uvicorn

    from app.logs import configure_logging
    from app.web.draining import DrainingServer

    settings = read_settings()
    check_host(settings, host)
    _check_spool(settings)
    configure_logging(settings.log_level, settings.log_format)
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        host=host,
        port=port,
        log_config=None,
        http="h11",  # bounds the bytes of headers (64 KiB); httptools keeps all that are sent, without a key
        access_log=False,  # app/web/access_log.py logs requests
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_SECONDS,
        server_header=False,
        limit_concurrency=max_connections + 1,  # uvicorn counts the connection that asks
    )
    server = DrainingServer(config, drain_seconds, settings.silent_seconds)
    server.run()
    if not server.started:
        raise typer.Exit(1)


def check_host(settings: "Settings", host: str) -> None:
    from app.model_settings import is_loopback
    from app.web.middleware import ADVICE

    if not settings.require_keys and not is_loopback(host):
        message = f"without API keys the service listens on this machine only (127.0.0.1), not on {host}"
        raise RefusedInput(message, ADVICE, "where: --host")


def _check_spool(settings: "Settings") -> None:
    """Refuse a folder for uploads in which no upload could be kept."""
    try:
        TemporaryFile(dir=settings.spool_dir).close()
    except OSError as error:
        message = f"no file can be written in the folder for uploads ({error.strerror})"
        raise RefusedInput(message, "where: LENS_SPOOL_DIR, or TMPDIR if it is not set") from error


def work() -> None:
    """Run jobs, one at a time, until stopped. Start one worker per GPU."""
    read_settings()
    os.execv(sys.executable, [sys.executable, "-m", "worker"])


def answer(
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this machine's own needs LENS_ANSWERS_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8090,
) -> None:
    """Answer texts at once: hold the models that the API asks for, until stopped. Start one per GPU.

    The API finds it by LENS_ANSWERS_ADDRESSES. It needs neither Postgres nor Redis.
    """
    read_settings()
    os.execv(sys.executable, [sys.executable, "-m", "worker.answering", host, str(port)])


def migrate() -> None:
    """Update the database schema. Repeated and simultaneous runs are safe."""
    from sqlalchemy.exc import OperationalError

    from app.logs import configure_logging
    from app.store.schema import upgrade_schema

    settings = read_settings()
    configure_logging(settings.log_level, settings.log_format)
    try:
        upgrade_schema(settings)
    except OperationalError as error:
        raise Refusal(f"the database does not answer: {error.orig}", details=("where: LENS_DATABASE_URL",)) from error
    except ValueError as error:
        raise RefusedInput(str(error)) from error
    Console().print("The schema is up to date.")
