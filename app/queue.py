"""The queue: jobs in Redis that tell a worker which selection waits.

The row in Postgres is the source of truth. A lost job therefore delays a selection and loses no data:
the sweep enqueues it again. Requests do not fail while Redis is down. Only this module of `app`
imports rq.
"""

import logging
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue
from rq.exceptions import DuplicateJobError, InvalidJobOperation, NoSuchJobError
from rq.executions import ExecutionRegistry
from rq.job import Job, JobStatus
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
class JobId:
    """What RQ is given: a queued job, and the number of its next attempt. As text, `sel_…-1`."""

    job_id: str
    attempt: int
    model: str | None = None  #: that the job asks; decides the queue

    def __str__(self) -> str:
        return f"{self.job_id}-{self.attempt}"


class JobQueue:
    """The queue of selections. Its timeouts are short, because a request must not wait for Redis."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._redis = Redis.from_url(
            settings.redis_url, socket_connect_timeout=1, socket_timeout=1, retry=Retry(NoBackoff(), 1)
        )
        self._queues = self._make_queues(self._redis)
        self._glancing_redis = Redis.from_url(
            settings.redis_url,
            socket_connect_timeout=_GLANCE_SECONDS,
            socket_timeout=_GLANCE_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._workers = WorkerCount(self._count_workers)
        self._pause = Pause()

    def _make_queues(self, connection: Redis) -> dict[str, Queue]:
        names = self._settings.queues
        return {name: Queue(name, connection=connection, serializer=SERIALIZER) for name in names}

    def enqueue(self, job_id: JobId) -> None:
        """Enqueue a selection for a request. If Redis does not answer, the sweep does it.

        For some seconds after Redis did not answer, it is not asked, so that requests do not wait one after another.
        """
        if self._pause.is_on:
            return
        try:
            self._enqueue(job_id)
        except RedisError as error:
            self._pause.begin()
            _log.warning(
                "Redis does not answer; the sweep will enqueue %s (%s)",
                job_id.job_id,
                type(error).__name__,
                extra={"action": "enqueue-postponed", "job_id": job_id.job_id},
            )

    def enqueue_missing(self, job_ids: Sequence[JobId]) -> int:
        """Enqueue selections that have no live job, and return their number.

        A job is live while it waits, while a worker takes it, and until RQ finds that its worker died.

        Raises:
            RedisError: Redis does not answer.
        """
        queues = self._queues.values()
        waiting = {one for queue in queues for one in queue.get_job_ids()}
        absent = [job_id for job_id in job_ids if str(job_id) not in waiting]
        # After the queues, as jobs move from those to these.
        taken = {one for queue in queues for one in queue.intermediate_queue.get_job_ids()}
        found = ((job_id, self._find(job_id)) for job_id in absent)
        lost = [(job_id, job) for job_id, job in found if not _is_live(job, taken)]
        for job_id, job in lost:
            if job is not None:
                self._forget(job)
            self._enqueue(job_id)
        return len(lost)

    def _find(self, job_id: JobId) -> Job | None:
        """The job with this id; one that RQ cannot read is deleted, and keeps no other from the queue."""
        try:
            return Job.fetch(str(job_id), self._redis, serializer=SERIALIZER)
        except RedisError:
            raise
        except Exception as error:  # noqa: BLE001 - of what it is made, a stranger or a flush decides
            if not isinstance(error, NoSuchJobError):
                _log.warning("the job %s is unreadable (%s)", job_id, type(error).__name__)
            self._redis.delete(Job.key_for(str(job_id)))
            return None

    def _enqueue(self, job_id: JobId) -> None:
        """Enqueue a job, unless it is enqueued already.

        A further attempt goes to the front of the queue, because most of its work may be done. So does a job that is no
        selection: it takes minutes, and would wait for hours.
        """
        with suppress(DuplicateJobError):
            self._queues[self._settings.queue_of(job_id.model)].enqueue_call(
                RUN_SELECTION,
                args=(job_id.job_id,),
                job_id=str(job_id),
                unique=True,
                at_front=job_id.attempt > 1 or not job_id.job_id.startswith("sel_"),
                timeout=self._settings.job_timeout_seconds,
                result_ttl=0,
                failure_ttl=_FAILURE_TTL_SECONDS,
                description=job_id.job_id,
            )

    def _forget(self, job: Job) -> None:
        """Delete a job, whatever has become of it since it was read."""
        try:
            job.delete()
        except InvalidJobOperation:
            pass  # another process deleted it, or its worker ended it
        except ValueError:
            # RQ lists an execution for a minute longer than it keeps it, and cannot delete a job with such an entry.
            self._redis.delete(ExecutionRegistry(job.id, self._redis).key, job.key)

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
            for key in _find_keys(self._queues):
                pipeline.hget(key, REDIS_FIELD)
            found = pipeline.execute()
        devices = [device for text in found if (device := _parse_device(text)) is not None]
        return sorted(devices, key=lambda device: (device.name, device.device))

    def count_workers(self) -> Mapping[str, int] | None:
        """The number of living workers of each queue, of some seconds ago; None if Redis does not answer.

        A worker that was killed counts for up to two minutes. The call takes a fraction of a second at most.
        """
        return self._workers.get()

    def _count_workers(self) -> dict[str, int]:
        found = {name: get_keys(queue=queue) for name, queue in self._make_queues(self._glancing_redis).items()}
        return {name: int(self._glancing_redis.exists(*keys)) if keys else 0 for name, keys in found.items()}

    def close(self) -> None:
        self._redis.close()
        self._glancing_redis.close()


def _find_keys(queues: Mapping[str, Queue]) -> set[str]:
    """The keys of the workers of all queues."""
    return {key for queue in queues.values() for key in get_keys(queue=queue)}


def _is_live(job: Job | None, taken: Container[str]) -> bool:
    if job is None:
        return False
    status = job.get_status(refresh=False)
    return status == JobStatus.STARTED or (status == JobStatus.QUEUED and job.id in taken)


def _parse_device(text: bytes | None) -> WorkerDevice | None:
    """None for a worker that has expired, or of a release that registers its device in another form."""
    try:
        return None if text is None else WorkerDevice.model_validate_json(text)
    except ValidationError:
        return None
