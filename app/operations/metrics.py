"""Metrics of this process and of the service, and the route /metrics, in the text format of Prometheus.

The numbers name no selection. One names owners, and all tell how busy the service is. So they have a key of their own,
which opens nothing else.
"""

import hmac
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

from fastapi import APIRouter, Depends, Request
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from redis.exceptions import RedisError
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.responses import Response

from app.errors import Unauthorized
from app.lifecycle import endings
from app.lifecycle.claims import may_start, queue_of_job
from app.lifecycle.endings import CounterKey, read_counters
from app.model_settings import is_loopback
from app.settings import Settings
from app.store.keys import KeyLookup, hash_key
from app.store.services import Services
from app.store.tables import Job, Status
from app.web.dependencies import ServicesDep


class ProcessMetrics:
    """Connections to Postgres, ends of the reader, and when this process last swept."""

    def __init__(self, registry: CollectorRegistry, services: Services) -> None:
        pool = services.database.engine.pool
        in_use = Gauge("lens_database_connections", "Connections to Postgres that requests hold.", registry=registry)
        in_use.set_function(lambda: float(pool.checkedout()))  # type: ignore[attr-defined]
        most = Gauge("lens_database_connections_max", "Most of them: LENS_DATABASE_POOL_SIZE.", registry=registry)
        most.set(services.settings.database_pool_size)
        self.reader_ends = Counter(
            "lens_reader_ends", "How often the reader of large submissions ended by itself.", registry=registry
        )
        self.last_sweep = Gauge(
            "lens_last_sweep_timestamp_seconds",
            "When this process last swept, or found another process sweeping (Unix time).",
            registry=registry,
        )


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
                found = [*_jobs(session), *_queue(session, settings), *_counters(session)]
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


def _counters(session: Session) -> Iterator[Metric]:
    found = read_counters(session)
    attempts = CounterMetricFamily("lens_attempts", endings.ABOUT_ATTEMPTS, labels=["outcome"])
    for outcome in endings.OUTCOMES:
        attempts.add_metric([outcome], found.get(CounterKey(endings.ATTEMPTS, outcome), 0.0))
    yield attempts
    seconds = CounterMetricFamily(
        "lens_device_seconds", "Time of attempts that ended, by `owner` (seconds).", labels=["owner"]
    )
    for key in (key for key in sorted(found) if key.name == endings.DEVICE_SECONDS):
        seconds.add_metric([key.label], found[key])
    yield seconds


router = APIRouter()


async def check_reader(request: Request, services: ServicesDep) -> None:
    """Let the holder of the key of the metrics pass. Without such a key: this machine, if no API key is needed.

    Behind a reverse proxy of the same machine every caller has a local address. Such a service has API keys.
    """
    known = services.settings.metrics_key_hash
    if known is not None and _has_key(request, known):
        return
    is_local = request.client is not None and is_loopback(request.client.host)
    may_be_open = known is None and not services.settings.require_keys and is_local
    keys: KeyLookup = request.app.state.keys
    if may_be_open and not await keys.has_keys():
        return
    raise Unauthorized(
        "send the key of the metrics as `Authorization: Bearer <key>`; its SHA-256 is LENS_METRICS_KEY_HASH",
        headers={"WWW-Authenticate": "Bearer"},
    )


@router.get("/metrics", include_in_schema=False, dependencies=[Depends(check_reader)])
def show_metrics(request: Request) -> Response:
    """Answer with all metrics of this process and of the service."""
    registry: CollectorRegistry = request.app.state.registry
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _has_key(request: Request, known: str) -> bool:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(hash_key(key.strip()), known)
