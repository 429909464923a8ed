"""The doorbell: a job in Redis that tells a worker that a selection waits.

The row in Postgres is the source of truth. A lost job therefore delays a selection and loses no data:
the sweep enqueues it again. Requests do not fail while Redis is down. Only this module of `app`
imports rq.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue
from rq.command import send_stop_execution_command
from rq.exceptions import DuplicateJobError, InvalidJobOperation, NoSuchJobError
from rq.executions import ExecutionRegistry
from rq.job import Job, JobStatus
from rq.registry import StartedJobRegistry
from rq.worker_registration import get_keys

from app.pause import Pause
from app.settings import Settings
from app.worker_count import WorkerCount
from app.worker_device import REDIS_FIELD, WorkerDevice

RUN_SELECTION = "worker.jobs.run_selection"
"""Name of the job function. The API process never imports the worker."""

SERIALIZER = "json"
_FAILURE_TTL_SECONDS = 7 * 86_400
_GLANCE_SECONDS = 0.2

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Doorbell:
    """A queued selection, and the number of its next attempt."""

    selection_id: str
    attempt: int

    @property
    def job_id(self) -> str:
        return f"{self.selection_id}-{self.attempt}"

    @property
    def previous(self) -> "Doorbell":
        """The attempt before this one."""
        return Doorbell(self.selection_id, self.attempt - 1)

    @classmethod
    def from_job_id(cls, job_id: str) -> "Doorbell":
        """Parse a `job_id`.

        Raises:
            ValueError: the id does not belong to a selection's job.
        """
        selection_id, _, attempt = job_id.rpartition("-")
        if not selection_id:
            raise ValueError(f"{job_id!r} is not the id of a selection's job")
        return cls(selection_id, int(attempt))


class JobQueue:
    """The queue of selections. Its timeouts are short, because a request must not wait for Redis."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._redis = Redis.from_url(
            settings.redis_url, socket_connect_timeout=1, socket_timeout=1, retry=Retry(NoBackoff(), 1)
        )
        self._queue = Queue(settings.queue_name, connection=self._redis, serializer=SERIALIZER)
        self._glancing_redis = Redis.from_url(
            settings.redis_url,
            socket_connect_timeout=_GLANCE_SECONDS,
            socket_timeout=_GLANCE_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._workers = WorkerCount(self._count_workers)
        self._pause = Pause()

    def ring(self, doorbell: Doorbell) -> bool:
        """Enqueue a selection for a request. Returns False if the sweep is left to do so.

        For some seconds after Redis did not answer, it is not asked, so that requests do not wait one after another.
        """
        return not self._pause.is_on and self.enqueue(doorbell)

    def enqueue(self, doorbell: Doorbell) -> bool:
        """Enqueue a selection. Returns False if it is enqueued already or Redis does not answer.

        A further attempt goes to the front of the queue: most of its work may be done.
        """
        try:
            self._enqueue(doorbell)
        except DuplicateJobError:
            return False
        except RedisError as error:
            self._pause.begin()
            _log.warning(
                "Redis does not answer; the sweep will enqueue %s (%s)",
                doorbell.selection_id,
                type(error).__name__,
                extra={"action": "enqueue-postponed", "selection_id": doorbell.selection_id},
            )
            return False
        return True

    def _enqueue(self, doorbell: Doorbell) -> None:
        self._queue.enqueue_call(
            RUN_SELECTION,
            args=(doorbell.selection_id,),
            job_id=doorbell.job_id,
            unique=True,
            at_front=doorbell.attempt > 1,
            timeout=self._settings.job_timeout_seconds,
            result_ttl=0,
            failure_ttl=_FAILURE_TTL_SECONDS,
            description=doorbell.selection_id,
        )

    def enqueue_lost(self, doorbells: Iterable[Doorbell], *, stop_late: bool = True) -> int:
        """Enqueue selections that have no live job, and return their number.

        Args:
            stop_late: a job that a work-horse took and did not claim within a lease is stopped, and is enqueued once
                its worker has stopped it or after a second lease; otherwise it is enqueued at once.

        Raises:
            RedisError: Redis does not answer.
        """
        waiting = set(self._queue.get_job_ids())
        suspects = [doorbell for doorbell in doorbells if doorbell.job_id not in waiting]
        jobs = Job.fetch_many([doorbell.job_id for doorbell in suspects], self._redis, serializer=SERIALIZER)
        gone = [(doorbell, job) for doorbell, job in zip(suspects, jobs, strict=True) if not self._is_in_time(job, 1)]
        stopped = self.stop(doorbell for doorbell, job in gone if job is not None) if stop_late else set()
        lost = [
            (doorbell, job) for doorbell, job in gone if doorbell not in stopped or not self._is_in_time(job, leases=2)
        ]
        for doorbell, job in lost:
            if job is not None:
                self._forget(job)
            self.enqueue(doorbell)
        return len(lost)

    def _forget(self, job: Job) -> None:
        """Delete a job, whatever has become of it since it was read."""
        try:
            job.delete()
        except InvalidJobOperation:
            pass  # another process deleted it, or its worker ended it
        except ValueError:
            # RQ lists an execution for a minute longer than it keeps it, and cannot delete a job with such an entry.
            self._redis.delete(ExecutionRegistry(job.id, self._redis).key, job.key)
        self._redis.delete(self._queue.intermediate_queue.get_first_seen_key(job.id))

    def _is_in_time(self, job: Job | None, leases: int) -> bool:
        """Whether a job may still claim its selection, `leases` after a sweep first missed it in the queue.

        `enqueued_at` does not tell when a worker took the job, and `started_at` is set by the work-horse, later.
        `last_heartbeat` is no sign of life, because RQ's parent process renews it while its work-horse hangs.
        """
        if job is None or job.get_status(refresh=False) not in {JobStatus.QUEUED, JobStatus.STARTED}:
            return False
        taken = self._queue.intermediate_queue
        if taken.set_first_seen(job.id):
            return True
        missed_at = taken.get_first_seen(job.id)
        return missed_at is None or datetime.now(UTC) - missed_at < timedelta(
            seconds=leases * self._settings.lease_seconds
        )

    def withdraw(self, doorbell: Doorbell) -> None:
        """Delete the job of a selection that was cancelled in the queue (best effort)."""
        self._attempt(lambda: self._forget(self._fetch(doorbell)), doorbell)

    def stop(self, doorbells: Iterable[Doorbell]) -> set[Doorbell]:
        """Tell the workers that run these jobs to kill their work-horses. Returns the jobs that a worker runs.

        The parent process in RQ kills, so this ends a work-horse that hangs. A command may be lost; repeat it.

        Raises:
            RedisError: Redis does not answer.
        """
        asked = list(doorbells)
        with self._redis.pipeline(transaction=False) as pipeline:
            for doorbell in asked:
                pipeline.zrange(ExecutionRegistry(doorbell.job_id, self._redis).key, 0, -1)
            found = pipeline.execute()
        return {
            doorbell
            for doorbell, executions in zip(asked, found, strict=True)
            for execution in executions
            if self._stop(doorbell, execution.decode())
        }

    def list_running(self) -> list[Doorbell]:
        """The jobs of selections that workers have taken and not ended, by RQ's account.

        Raises:
            RedisError: Redis does not answer.
        """
        # Without a clean-up, which would run callbacks of abandoned jobs in this process.
        ids = StartedJobRegistry(queue=self._queue).get_job_ids(cleanup=False)
        return [doorbell for id_ in ids if (doorbell := _parse_job_id(id_)) is not None]

    def _stop(self, doorbell: Doorbell, execution_id: str) -> bool:
        """By the execution, because a job has the name of its worker only after the work-horse has begun."""
        try:
            send_stop_execution_command(self._redis, doorbell.job_id, execution_id)
        except InvalidJobOperation:
            return False  # it has ended meanwhile, or its worker died
        _log.warning(
            "the worker of %s was told to kill attempt %d",
            doorbell.selection_id,
            doorbell.attempt,
            extra={"action": "stop-job", "selection_id": doorbell.selection_id, "attempt": doorbell.attempt},
        )
        return True

    def ping(self) -> None:
        """Check that Redis answers.

        Raises:
            RedisError: Redis does not answer within one second.
        """
        self._redis.ping()

    def list_devices(self) -> list[WorkerDevice]:
        """The device of each worker that is registered, by name. A worker that died may be listed for some minutes.

        Raises:
            RedisError: Redis does not answer.
        """
        with self._redis.pipeline(transaction=False) as pipeline:
            for key in get_keys(queue=self._queue):
                pipeline.hget(key, REDIS_FIELD)
            found = pipeline.execute()
        devices = [device for text in found if (device := _parse_device(text)) is not None]
        return sorted(devices, key=lambda device: (device.name, device.device))

    def count_workers(self) -> int | None:
        """The number of living workers of some seconds ago; None if Redis does not answer.

        A worker that was killed counts for up to two minutes. The call takes a fraction of a second at most.
        """
        return self._workers.get()

    def _count_workers(self) -> int:
        keys = get_keys(queue=Queue(self._settings.queue_name, connection=self._glancing_redis, serializer=SERIALIZER))
        return int(self._glancing_redis.exists(*keys)) if keys else 0

    def close(self) -> None:
        self._redis.close()
        self._glancing_redis.close()

    def _fetch(self, doorbell: Doorbell) -> Job:
        return Job.fetch(doorbell.job_id, connection=self._redis, serializer=SERIALIZER)

    def _attempt(self, act: Callable[[], Any], doorbell: Doorbell) -> None:
        try:
            act()
        except (NoSuchJobError, InvalidJobOperation):
            return
        except RedisError as error:
            _log.warning(
                "Redis does not answer; the job of %s stays as it is (%s)", doorbell.selection_id, type(error).__name__
            )


def _parse_job_id(job_id: str) -> Doorbell | None:
    """None for a foreign job."""
    try:
        return Doorbell.from_job_id(job_id)
    except ValueError:
        return None


def _parse_device(text: bytes | None) -> WorkerDevice | None:
    """None for a worker that has expired, or of a release that registers its device in another form."""
    try:
        return None if text is None else WorkerDevice.model_validate_json(text)
    except ValidationError:
        return None
