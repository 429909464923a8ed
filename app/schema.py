"""The database schema: migrate it and report its revision."""

import logging
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

import migrations
from app.settings import Settings

_LOCK_NOT_AVAILABLE = "55P03"  # SQLSTATE of a wait for a lock that exceeded lock_timeout

_log = logging.getLogger(__name__)


class SchemaBusy(Exception):
    """Another session held a lock on a table for too long, and the schema is not up to date."""


@dataclass(frozen=True, slots=True)
class LockPatience:
    """How often a migration tries to lock a table (about 2 s each), and the pause between two tries (seconds)."""

    tries: int = 20
    pause_seconds: float = 3.0


def upgrade_schema(settings: Settings, revision: str = "head", patience: LockPatience | None = None) -> None:
    """Run the missing migrations. Several processes can call this at once.

    A migration that does not get the lock of a table is rolled back and tried again, so that other sessions never wait
    longer than one try behind it. Migrations that are done stay done.

    Raises:
        SchemaBusy: the last try did not get the lock either.
    """
    patience = patience or LockPatience()
    for attempt in range(1, patience.tries + 1):
        try:
            command.upgrade(alembic_config(settings), revision)
            return
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            if attempt == patience.tries:
                raise SchemaBusy(
                    f"another session holds a lock on a table, and {attempt} tries did not get it; wait until the "
                    "session ends (for example a pg_dump or a long transaction), then migrate again"
                ) from error
        _log.warning("a table is locked by another session; try %d of %d follows", attempt + 1, patience.tries)
        time.sleep(patience.pause_seconds)


def downgrade_schema(settings: Settings, revision: str) -> None:
    """Revert migrations down to `revision`."""
    command.downgrade(alembic_config(settings), revision)


@dataclass(frozen=True, slots=True)
class Revisions:
    """The migrations of this release."""

    head: str | None  #: the newest; None without any migration
    known: frozenset[str]


@cache
def own_revisions() -> Revisions:
    """Read the migrations of this release. Reading takes milliseconds, and they cannot change while a process runs."""
    scripts = ScriptDirectory.from_config(_bare_config())
    return Revisions(scripts.get_current_head(), frozenset(script.revision for script in scripts.walk_revisions()))


def head_revision() -> str | None:
    """Newest revision of this release."""
    return own_revisions().head


def current_revision(connection: Connection) -> str | None:
    """Revision of the database; None for an empty database."""
    return MigrationContext.configure(connection).get_current_revision()


def is_behind(connection: Connection) -> bool:
    """Whether the schema is older than this release needs. A revision that this release does not know is newer."""
    found, own = current_revision(connection), own_revisions()
    return found is None or found in own.known - {own.head}


def alembic_config(settings: Settings) -> Config:
    """Build the Alembic configuration for the database of the settings."""
    config = _bare_config()
    config.attributes["settings"] = settings
    return config


def _bare_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
