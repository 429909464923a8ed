"""The service's processes, one command each: `lens serve`, `worker`, `answers`, `migrate`; and `lens keys`."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.refusals import Refusal, RefusedInput, read_settings

if TYPE_CHECKING:
    from app.settings import Settings
    from app.store.database import Database

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
    from app.logs import configure_logging
    from app.web.draining import DrainingServer, configure_server

    settings = read_settings()
    check_host(settings, host)
    _check_spool(settings)
    configure_logging(settings.log_level, settings.log_format)
    most = max_connections + 1  # uvicorn counts the connection that asks
    grace = GRACEFUL_SHUTDOWN_SECONDS
    config = configure_server("app.main:create_app", host, port, grace, factory=True, limit_concurrency=most)
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


_KEY_COLUMNS = ("Id", "Owner", "Name", "Key", "Created", "Last used", "Expires", "Revoked")
_WIDEST = 10_000
_WHERE = "where: LENS_DATABASE_URL"
_FIRST = (
    "This is the first key: within seconds the service asks for a key in every request, also after the key is revoked. "
    "What was submitted without a key belongs to the owner {local}. {reader} it."
)


def create_keys() -> typer.Typer:
    """Build the group `lens keys`."""
    group = typer.Typer(
        help="Make, list and revoke API keys. They are stored hashed in Postgres, and take effect within seconds.",
        no_args_is_help=True,
    )
    group.command("create")(create)
    group.command("list")(list_)
    group.command("revoke")(revoke)
    return group


def create(
    owner: Annotated[str, typer.Argument(help="Owner of what is submitted with the key.")],
    name: Annotated[str, typer.Option(help="What the key is for, such as the name of a program.")],
    expires: Annotated[
        int | None, typer.Option(metavar="DAYS", min=1, max=36_500, help="Days after which the key expires.")
    ] = None,
) -> None:
    """Make a key, and print it. It is shown this once, and cannot be read again."""
    from app.store import keys as service
    from app.web.authentication import LOCAL_OWNER

    with _open_database() as database:
        made = service.create_key(database, owner, name, expires)
    typer.echo(made.secret)
    notes = Console(stderr=True, highlight=False)
    notes.print(Text(f"{made.row.id} of {made.row.owner_id}. Keep the key: it is not shown again."), soft_wrap=True)
    if made.is_first and not read_settings().require_keys:
        reader = "This key reads" if owner == LOCAL_OWNER else "A key for this owner reads"
        notes.print(Text(_FIRST.format(local=LOCAL_OWNER, reader=reader)), soft_wrap=True)


def list_() -> None:
    """List all keys by their beginnings. The keys themselves are stored nowhere."""
    from app.store import keys as service

    with _open_database() as database:
        rows = service.list_keys(database)
    if not rows:
        typer.echo("There are no keys.")
        return
    table = Table(*_KEY_COLUMNS, box=None, pad_edge=False)
    for row in rows:
        times = map(_time, (row.created_at, row.last_used_at, row.expires_at, row.revoked_at))
        table.add_row(*map(Text, (row.id, row.owner_id, row.name, f"{row.prefix}…", *times)))
    console = Console(highlight=False)
    # A table is printed whole: an id that is cut to the width of the terminal could not be copied.
    console.width = max(console.width, Console(width=_WIDEST).measure(table).maximum)
    console.print(table)


def revoke(key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, from `lens keys list`.")]) -> None:
    """Revoke a key. Requests with it are refused within seconds."""
    from app.store import keys as service

    with _open_database() as database:
        row = service.revoke_key(database, key_id)
    Console(highlight=False).print(Text(f"{row.id} ({row.name}) of {row.owner_id} is revoked."), soft_wrap=True)


@contextmanager
def _open_database() -> Iterator["Database"]:
    """The database of the settings, for a command of the operator."""
    from sqlalchemy.exc import OperationalError, ProgrammingError

    from app.store.database import create_database
    from app.store.keys import KeyRefused

    database = create_database(read_settings(), pool_size=1)
    try:
        yield database
    except KeyRefused as error:
        raise RefusedInput(str(error)) from error
    except OperationalError as error:
        raise Refusal(f"the database does not answer: {error.orig}", details=(_WHERE,)) from error
    except ProgrammingError as error:
        raise Refusal("the schema is older than this release; run `lens migrate`", details=(_WHERE,)) from error
    finally:
        database.dispose()


def _time(value: datetime | None) -> str:
    return "-" if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"
