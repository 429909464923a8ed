"""The database schema: migrate it and report its revision."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, text

import migrations
from app.settings import Settings


def upgrade_schema(settings: Settings) -> None:
    """Run the missing migrations; several processes may at once. Raises ValueError for an unknown revision."""
    engine = create_engine(settings.database_url, poolclass=NullPool)
    with engine.connect() as connection:
        found = current_revision(connection)
    if found is not None and found not in own_revisions():
        raise ValueError(f"this release does not know revision {found}; it knows {', '.join(own_revisions())}")
    command.upgrade(alembic_config(settings), "head")


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
