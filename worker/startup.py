"""What a worker does before it waits for jobs."""

import logging

from sqlalchemy.exc import ProgrammingError

from app.database import POSTGRES_AWAY, Database, create_database, find_sqlstate
from app.lifecycle.sweep import sweep
from app.queue import JobQueue
from app.schema import current_revision, is_behind, own_revisions
from app.settings import Settings

_NO_SUCH_THING = {"42P01", "42703"}  # SQLSTATE: unknown table, unknown column

_log = logging.getLogger(__name__)


def sweep_once(settings: Settings) -> None:
    """Sweep once, so that selections of a dead worker continue, and close every connection before the first fork.

    Raises:
        SystemExit: the database schema is older than this release, or lacks a table or a column.
    """
    database, queue = create_database(settings, pool_size=1), JobQueue(settings)
    try:
        _check_schema(database)
        sweep(database, queue, settings)
    except ProgrammingError as error:
        if find_sqlstate(error) not in _NO_SUCH_THING:
            raise
        raise SystemExit("the database schema is missing or belongs to another release; run `lens migrate`") from error
    except POSTGRES_AWAY as error:
        _log.warning("Postgres does not answer; the API will sweep later (%s)", type(error).__name__)
    finally:
        queue.close()
        database.dispose()


def _check_schema(database: Database) -> None:
    """A newer schema is fine: it is migrated before the workers of the release before have ended."""
    with database.session_scope() as session:
        if is_behind(session.connection()):
            found = current_revision(session.connection()) or "none"
            raise SystemExit(
                f"the database schema is at revision {found}, and this release needs {own_revisions().head}; "
                "run `lens migrate`"
            )
