"""`lens usage`: what each owner has stored and under way."""

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lens_cli.service.keys import open_database

_WIDEST = 10_000
_COLUMNS = (
    "Owner",
    "Stored",
    "Of the limit",
    "Datasets",
    "Results",
    "Checkpoints",
    "Names",
    "Jobs",
    "Under way",
    "Device",
)


def usage() -> None:
    """List owners by what they have stored in Postgres, the largest first, with their jobs and device time."""
    from app.usage.service import read_usage
    from lens_cli.refusals import read_settings

    most = read_settings().max_owner_bytes
    with open_database() as database, database.session_scope() as session:
        found = read_usage(session)
    if not found:
        typer.echo("Nothing is stored.")
        return
    table = Table(*_COLUMNS, box=None, pad_edge=False)
    for one in found:
        sizes = [_mib(one.bytes.get(part, 0)) for part in ("datasets", "results", "checkpoints")]
        share = "-" if most is None else f"{one.total_bytes / most:.0%}"
        counts = [str(one.names), str(sum(one.jobs.values())), str(sum(one.under_way.values()))]
        row = (one.owner_id, _mib(one.total_bytes), share, *sizes, *counts, f"{one.device_seconds / 3600:.1f} h")
        table.add_row(*map(Text, row))
    console = Console(highlight=False)
    console.width = max(console.width, Console(width=_WIDEST).measure(table).maximum)
    console.print(table)


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
