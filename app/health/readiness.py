"""The checks of /readyz. A fault never contains an address."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from app.services import Services
from app.store.database import Database
from app.store.schema import current_revision, own_revisions
from app.worker_device import WorkerDevice

_REMEMBERED_SECONDS = 60.0


class FullDisk:
    """The last refusal of this process by `storage-full`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused_at: float | None = None

    def note_refusal(self) -> None:
        """Remember that a write was refused just now."""
        self._refused_at = self._clock()

    @property
    def is_recent(self) -> bool:
        """Whether a write was refused in the last minute."""
        return self._refused_at is not None and self._clock() - self._refused_at < _REMEMBERED_SECONDS


ANSWER_SECONDS = 5.0
"""Time that a probe waits for Postgres: as long as a request waits for a connection."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found. `fault` is None if the part is as it should be."""

    fault: str | None = None
    is_fatal: bool = False  #: whether the process cannot serve requests


class DatabaseCheck:
    """Asks Postgres in a thread of its own, because a frozen server keeps its client for many seconds.

    All probes wait for the same question, so a frozen server costs one thread and one connection.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._question: Future[str | None] | None = None

    def find_revision(self) -> str | None:
        """The revision of the schema; None for an empty database."""
        with self._lock:
            if self._question is None or self._question.done():
                self._question = Future()
                # A daemon, because it must not keep the process from its end.
                threading.Thread(target=self._ask, args=[self._question], name="lens-readiness", daemon=True).start()
            question = self._question
        return question.result(ANSWER_SECONDS)

    def _ask(self, question: Future[str | None]) -> None:
        try:
            with self._database.session_scope() as session:
                found = current_revision(session.connection())
        except Exception as error:  # noqa: BLE001 - raised again by the probes that wait
            question.set_exception(error)
        else:  # the connection is back in the pool, which may be closed as soon as the answer is out
            question.set_result(found)


def run_checks(services: Services, database_check: DatabaseCheck, full_disk: FullDisk) -> dict[str, Check]:
    """Run every check, by the name of the part.

    Only Postgres is needed to serve requests. Without Redis, a submission is stored and runs later.
    """
    database, migrations = _check_database(database_check)
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


def _check_database(database_check: DatabaseCheck) -> tuple[Check, Check]:
    try:
        found = database_check.find_revision()
    except (SQLAlchemyError, TimeoutError):
        return Check("does not answer", is_fatal=True), Check("unknown", is_fatal=True)
    return Check(), _check_revision(found)


def _check_revision(found: str | None) -> Check:
    """Compare the revision of the database with this release.

    The migration comes before the new processes. A revision that this release does not know is therefore newer, and
    the processes of this release serve until they are replaced.
    """
    *older, own = own_revisions()
    if found == own:
        return Check()
    if found is None or found in older:
        return Check(f"the schema is at revision {found}; this release needs {own}", is_fatal=True)
    return Check(f"the schema is at revision {found}, newer than {own} of this release: an upgrade is under way")


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
