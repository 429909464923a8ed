"""The database schema: migrate it and report its revision."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, inspect, text

import migrations
from app.settings import Settings


def upgrade_schema(settings: Settings) -> None:
    """Run the missing migrations. Several processes can call this at the same time. Raises ValueError as `is_older`."""
    move_schema(settings, own_revisions()[-1])


def move_schema(settings: Settings, revision: str) -> None:
    """Bring the schema to a revision of this release. An older one drops what the newer ones added, with its data.

    Raises ValueError as `is_older`.
    """
    (command.downgrade if is_older(settings, revision) else command.upgrade)(alembic_config(settings), revision)


def is_older(settings: Settings, revision: str) -> bool:
    """Whether a revision is older than that of the database.

    Raises ValueError if this release does not know the revision, or that of the database.
    """
    oldest_first = own_revisions()
    engine = create_engine(settings.database_url, poolclass=NullPool)
    with engine.connect() as connection:
        found = current_revision(connection)
    for one in (revision, found):
        if one is not None and one not in oldest_first:
            raise ValueError(f"this release does not know revision {one}; it knows {', '.join(oldest_first)}")
    return found is not None and oldest_first.index(revision) < oldest_first.index(found)


def find_losses(settings: Settings, revision: str) -> dict[str, int]:
    """What a move to an older revision would delete: numbers of rows by table, of values by column that goes.

    The move is tried in a transaction that is rolled back, so that what a migration deletes is counted and not guessed.
    """
    looks: list[dict[str, int]] = []
    config = alembic_config(settings)
    config.attributes["trial"] = lambda connection: looks.append(_count_contents(connection))
    command.downgrade(config, revision)
    before, after = looks
    lost = {name: number - after.get(name, 0) for name, number in before.items()}
    is_told = {name for name in before if "." not in name or (name not in after and name.partition(".")[0] in after)}
    return {name: number for name, number in lost.items() if number > 0 and name in is_told}


def _count_contents(connection: Connection) -> dict[str, int]:
    """Number of rows of each table, and of values of each column (`table.column`)."""
    quote = connection.dialect.identifier_preparer.quote
    found = dict[str, int]()
    inspector = inspect(connection)
    for table in inspector.get_table_names():
        stored = [one for one in inspector.get_columns(table) if "computed" not in one]
        columns = [one["name"] for one in stored if table != "alembic_version"]
        counts = ", ".join(["count(*)", *(f"count({quote(column)})" for column in columns)])
        row = connection.execute(text(f"SELECT {counts} FROM {quote(table)}")).one()
        found |= dict(zip([table, *(f"{table}.{column}" for column in columns)], row, strict=True))
    return found


@cache
def own_revisions() -> tuple[str, ...]:
    """The migrations of this release, oldest first. Reading takes milliseconds, and they cannot change meanwhile."""
    return tuple(one.revision for one in ScriptDirectory.from_config(alembic_config()).walk_revisions())[::-1]


def current_revision(connection: Connection) -> str | None:
    """Revision of the database; None for an empty database."""
    # Alembic would log two lines for each look, and /readyz looks every few seconds.
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def is_behind(connection: Connection) -> bool:
    """Whether the schema is older than this release needs. A revision that this release does not know is newer."""
    found = current_revision(connection)
    return found is None or found in own_revisions()[:-1]


def alembic_config(settings: Settings | None = None) -> Config:
    """Build the Alembic configuration, for the database of the settings."""
    config = Config()
    config.attributes["settings"] = settings
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
