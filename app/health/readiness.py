"""The checks of /readyz. A fault never contains an address."""

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from app.schema import current_revision, head_revision
from app.selections.service import Services
from app.worker_device import WorkerDevice


def run_checks(services: Services) -> dict[str, str | None]:
    """Run every check. Returns the fault of each part by name, or None for a part without a fault."""
    database, migrations = _check_database(services)
    return {"database": database, "migrations": migrations, "redis": _check_redis(services)}


def find_workers(services: Services) -> list[WorkerDevice]:
    """The devices of the registered workers; information, not a check. Empty if Redis does not answer."""
    try:
        return services.queue.list_devices()
    except RedisError:
        return []


def _check_database(services: Services) -> tuple[str | None, str | None]:
    try:
        with services.database.session_scope() as session:
            found = current_revision(session.connection())
    except SQLAlchemyError:
        return "does not answer", "unknown"
    head = head_revision()
    return None, None if found == head else f"the schema is at revision {found}; this release needs {head}"


def _check_redis(services: Services) -> str | None:
    try:
        services.queue.ping()
    except RedisError:
        return "does not answer"
    return None
