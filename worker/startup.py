"""What a worker does before it waits for work."""

import logging

from app.database import create_database
from app.queue import JobQueue
from app.selections.sweep import sweep
from app.settings import Settings
from worker.persistence import POSTGRES_AWAY

_log = logging.getLogger(__name__)


def sweep_once(settings: Settings) -> None:
    """Ring for what the last worker left, and close every connection: none may be open at a fork."""
    database, queue = create_database(settings, pool_size=1), JobQueue(settings)
    try:
        sweep(database, queue, settings)
    except POSTGRES_AWAY as error:
        _log.warning("Postgres is away; the API will sweep (%s)", type(error).__name__)
    finally:
        queue.close()
        database.dispose()
