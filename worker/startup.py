"""What a worker does before it waits for work."""

import logging

from sqlalchemy.exc import ProgrammingError

from app.database import create_database
from app.queue import JobQueue
from app.selections.sweep import sweep
from app.settings import Settings
from worker.persistence import POSTGRES_AWAY

_NO_SUCH_THING = {"42P01", "42703"}  # SQLSTATE of an unknown table and an unknown column

_log = logging.getLogger(__name__)


def sweep_once(settings: Settings) -> None:
    """Ring for what the last worker left, and close every connection: none may be open at a fork.

    Raises:
        SystemExit: the database is not at this release's schema.
    """
    database, queue = create_database(settings, pool_size=1), JobQueue(settings)
    try:
        sweep(database, queue, settings)
    except ProgrammingError as error:
        if getattr(error.orig, "sqlstate", None) not in _NO_SUCH_THING:
            raise
        raise SystemExit("the database's schema is missing or of another release; run `lens migrate`") from error
    except POSTGRES_AWAY as error:
        _log.warning("Postgres is away; the API will sweep (%s)", type(error).__name__)
    finally:
        queue.close()
        database.dispose()
