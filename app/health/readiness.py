"""The checks of /readyz. A fault never contains an address."""

from dataclasses import dataclass

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from app.health.full_disk import FullDisk
from app.schema import current_revision, own_revisions
from app.services import Services
from app.worker_device import WorkerDevice


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found. `fault` is None if the part is as it should be."""

    fault: str | None = None
    is_fatal: bool = False  #: whether the process cannot serve requests


def run_checks(services: Services, full_disk: FullDisk) -> dict[str, Check]:
    """Run every check, by the name of the part.

    Only Postgres is needed to serve requests. Without Redis, a submission is stored and runs later.
    """
    database, migrations = _check_database(services)
    return {
        "database": database,
        "migrations": migrations,
        "storage": _check_storage(full_disk),
        "redis": _check_redis(services),
        "workers": _check_workers(services),
    }


def find_workers(services: Services) -> list[WorkerDevice]:
    """The devices of the registered workers; information, not a check. Empty if Redis does not answer."""
    try:
        return services.queue.list_devices()
    except RedisError:
        return []


def _check_database(services: Services) -> tuple[Check, Check]:
    try:
        with services.database.session_scope() as session:
            found = current_revision(session.connection())
    except SQLAlchemyError:
        return Check("does not answer", is_fatal=True), Check("unknown", is_fatal=True)
    return Check(), _check_revision(found)


def _check_revision(found: str | None) -> Check:
    """Compare the revision of the database with this release.

    The migration comes before the new processes. A revision that this release does not know is therefore newer, and
    the processes of this release serve until they are replaced.
    """
    own = own_revisions()
    if found == own.head:
        return Check()
    if found is None or found in own.known:
        return Check(f"the schema is at revision {found}; this release needs {own.head}", is_fatal=True)
    return Check(f"the schema is at revision {found}, newer than {own.head} of this release: an upgrade is under way")


def _check_storage(full_disk: FullDisk) -> Check:
    if full_disk.is_recent:
        return Check("a disk is full: a write was refused within the last minute, and reads are answered")
    return Check()


def _check_redis(services: Services) -> Check:
    try:
        services.queue.ping()
    except RedisError:
        return Check("does not answer; submissions are stored and run later")
    return Check()


def _check_workers(services: Services) -> Check:
    settings, counts = services.settings, services.queue.count_workers()
    if counts is None or all(counts.values()):
        return Check()
    if not any(counts.values()):
        return Check("0: no worker is registered; submissions wait until one is started")
    kind = "weights" if counts.get(settings.queue_name) == 0 else "endpoints"
    return Check(f"0 with LENS_WORKER_MODELS={kind}: submissions for its models wait until one is started")
