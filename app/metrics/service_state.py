"""Numbers of the whole service, read from Postgres and Redis when Prometheus asks. Every API process shows the same."""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.lifecycle.waiting import may_start, queue_of_job
from app.metrics import counters
from app.metrics.counters import CounterKey, read_counters, show_waits
from app.prompts.service import MOST_VERSIONS, WARNED_FROM
from app.services import Services
from app.settings import Settings
from app.store.prompt_tables import Prompt
from app.store.states import Status
from app.store.tables import Job

CACHE_SECONDS = 5.0
"""How long an answer is repeated, so that many scrapes cost the stores no more than one."""


class ServiceState(Collector):
    """Selections, queue and workers. Without Postgres, only `lens_database_up` says so, and the rest is left out."""

    def __init__(self, services: Services, clock: Callable[[], float] = time.monotonic) -> None:
        self._services = services
        self._clock = clock
        self._lock = threading.Lock()
        self._found: list[Metric] = []
        self._read_at: float | None = None

    def describe(self) -> list[Metric]:
        """Nothing: the registry would otherwise read the stores when the application is made."""
        return []

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            if self._read_at is None or self._clock() - self._read_at >= CACHE_SECONDS:
                self._found = [*self._from_postgres(), *self._from_redis(), self._spool()]
                self._read_at = self._clock()
            found = list(self._found)
        yield from found

    def _from_postgres(self) -> list[Metric]:
        about = "Whether Postgres answers and has this release's tables (1 or 0)."
        try:
            with self._services.database.session_scope() as session:
                settings = self._services.settings
                found = [*_jobs(session), *_queue(session, settings), *_names(session), *_counters(session)]
        except SQLAlchemyError:
            return [_up("lens_database_up", about, is_up=False)]
        return [_up("lens_database_up", about, is_up=True), *found]

    def _from_redis(self) -> list[Metric]:
        about = "Whether Redis answers (1 or 0)."
        try:
            found = self._services.queue.find_workers()
        except RedisError:
            return [_up("lens_redis_up", about, is_up=False)]
        workers = GaugeMetricFamily("lens_workers", "Workers that are registered in Redis.", labels=["queue"])
        for queue, number in found.items():
            workers.add_metric([queue], number)
        return [_up("lens_redis_up", about, is_up=True), workers]

    def _spool(self) -> Metric:
        folder = self._services.settings.spool_dir or tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        return GaugeMetricFamily("lens_spool_free_bytes", "Free space of the folder for uploads (bytes).", value=free)


def _up(name: str, about: str, *, is_up: bool) -> Metric:
    return GaugeMetricFamily(name, about, value=float(is_up))


def _jobs(session: Session) -> Iterator[Metric]:
    rows = session.execute(select(Job.status, func.count().label("num")).group_by(Job.status)).all()
    found = {row.status: row.num for row in rows}
    family = GaugeMetricFamily("lens_jobs", "Stored jobs by `status`.", labels=["status"])
    for status in Status:
        family.add_metric([status.value], found.get(status.value, 0))
    yield family
    size = session.scalar(select(func.pg_database_size(func.current_database())))
    yield GaugeMetricFamily("lens_database_bytes", "Size of the database (bytes).", value=float(size or 0))


def _queue(session: Session, settings: Settings) -> Iterator[Metric]:
    """Jobs that a worker could take now; those that wait after a crash are not counted."""
    queue = queue_of_job(settings).label("queue")
    age = func.extract("epoch", func.now() - func.min(func.greatest(Job.queued_at, Job.not_before)))
    rows = session.execute(select(queue, func.count(), age).where(may_start()).group_by(queue))
    found = {name: (number, float(oldest)) for name, number, oldest in rows}
    labels = ["queue"]
    depth = GaugeMetricFamily("lens_queue_depth", "Jobs that a worker could take now.", labels=labels)
    oldest = GaugeMetricFamily(
        "lens_queue_oldest_seconds", "How long the oldest of them waits (seconds); 0 if none.", labels=labels
    )
    for name in settings.queues:
        for family, value in zip((depth, oldest), found.get(name, (0, 0.0)), strict=True):
            family.add_metric([name], value)
    yield from (depth, oldest)


def _names(session: Session) -> Iterator[Metric]:
    query = select(func.count()).where(Prompt.version >= WARNED_FROM, ~Prompt.is_deleted)
    about = f"Names with {WARNED_FROM:,} versions or more, of at most {MOST_VERSIONS:,}."
    yield GaugeMetricFamily("lens_names_near_limit", about, value=float(session.scalar(query) or 0))


def _counters(session: Session) -> Iterator[Metric]:
    found = read_counters(session)
    for name, label, about, known in (
        (counters.ATTEMPTS, "outcome", counters.ABOUT_ATTEMPTS, counters.OUTCOMES),
        (counters.PHASE_SECONDS, "phase", "Time of runs by `phase` (seconds).", counters.PHASES),
        (counters.PHASE_PAIRS, "phase", "Pairs scored by `phase`.", counters.PHASES),
    ):
        family = CounterMetricFamily(f"lens_{name}", about, labels=[label])
        for value in known:
            family.add_metric([value], found.get(CounterKey(name, value), 0.0))
        yield family
    yield show_waits(found)
    seconds = CounterMetricFamily(
        "lens_device_seconds", "Time of attempts that ended, by `owner` (seconds).", labels=["owner"]
    )
    for key in (key for key in sorted(found) if key.name == counters.DEVICE_SECONDS):
        seconds.add_metric([key.label], found[key])
    yield seconds
