"""The queue: jobs in Redis that wake the workers, one for each job that waits.

The row in Postgres is the source of truth, and `app.lifecycle.claims` chooses it when a worker is free. A lost job of
RQ therefore costs nobody a place and loses no data: the sweep enqueues another one. A job too many finds nothing to
claim. Requests do not fail while Redis is down. Only this module of `app` imports rq.
"""

import logging
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue
from rq.exceptions import DuplicateJobError
from rq.worker_registration import get_keys

from app.settings import Settings

_PAUSE_SECONDS, _FRESH_SECONDS = 5.0, 5.0
"""For which Redis is not asked after it did not answer, and for which a number of workers is repeated."""

RUN_JOB = "worker.jobs.run_job"
"""Name of the job function. The API process never imports the worker."""

SERIALIZER = "json"
_FAILURE_TTL_SECONDS = 7 * 86_400
_GLANCE_SECONDS = 0.2
_JOBS_AT_A_TIME = 500

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
    """The queue of jobs. Its timeouts are short, because a request must not wait for Redis."""

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
        self._paused_until = self._asked_at = -math.inf
        self._asking = threading.Lock()
        self._counts: Mapping[str, int] | None = None
        self._moving = dict[str, set[bytes | str]]()  #: ids that were between the lists at the last sweep, by queue

    def _make_queues(self, connection: Redis) -> dict[str, Queue]:
        names = self._settings.queues
        return {name: Queue(name, connection=connection, serializer=SERIALIZER) for name in names}

    def enqueue(self, job_id: JobId) -> None:
        """Enqueue a job for a request, unless it is enqueued already. If Redis does not answer, the sweep does it.

        For some seconds after Redis did not answer, it is not asked, so that requests do not wait one after another.
        """
        if time.monotonic() < self._paused_until:
            return
        queue = self._queues[self._settings.queue_of(job_id.model)]
        try:
            queue.enqueue_call(RUN_JOB, args=(job_id.job_id,), job_id=str(job_id), unique=True, **self._job_options())
        except DuplicateJobError:
            return
        except RedisError as error:
            self._paused_until = time.monotonic() + _PAUSE_SECONDS
            _log.warning(
                "Redis does not answer; the sweep will enqueue %s (%s)",
                job_id.job_id,
                type(error).__name__,
                extra={"action": "enqueue-postponed", "job_id": job_id.job_id},
            )

    def wake(self, num_waiting: Mapping[str, int]) -> int:
        """Enqueue as many jobs as a queue lacks of those that may start (`num_waiting`). Returns their number.

        A worker takes the next job, whichever woke it, so those that the sweep enqueues have ids of their own.
        """
        return sum(self._fill(self._queues[name], number) for name, number in num_waiting.items())

    def _fill(self, queue: Queue, num_waiting: int) -> int:
        """A job stands in the other list for a moment, while a worker takes it; one that a worker left there at its
        end stands there at the next sweep too, and wakes nobody."""
        length = self._redis.llen(queue.key)  # first, as jobs move from here to the other list
        moving = set(self._redis.lrange(queue.intermediate_queue_key, 0, -1))
        num_taken = len(moving - self._moving.get(queue.name, set()))
        self._moving[queue.name] = moving
        lacking = max(0, num_waiting - length - num_taken)
        for size in (min(_JOBS_AT_A_TIME, lacking - start) for start in range(0, lacking, _JOBS_AT_A_TIME)):
            queue.enqueue_many(
                Queue.prepare_data(RUN_JOB, ("sweep",), job_id=f"sweep-{uuid4().hex}", **self._job_options())
                for _ in range(size)
            )
        return lacking

    def _job_options(self) -> dict[str, Any]:
        return {
            "timeout": self._settings.job_timeout_seconds,
            "result_ttl": 0,
            "failure_ttl": _FAILURE_TTL_SECONDS,
            "description": "the next job that waits",
        }

    def ping(self) -> None:
        """Check that Redis answers. Raises RedisError if Redis does not answer within one second."""
        self._redis.ping()

    def count_workers(self) -> Mapping[str, int] | None:
        """The number of living workers of each queue, of some seconds ago; None if Redis does not answer.

        A worker that was killed counts for up to two minutes. The call takes a fraction of a second at most.
        """
        with self._asking:
            if time.monotonic() - self._asked_at >= _FRESH_SECONDS:
                try:
                    self._counts = self.find_workers(self._glancing_redis)
                except RedisError:
                    self._counts = None
                self._asked_at = time.monotonic()
            return self._counts

    def find_workers(self, redis: Redis | None = None) -> dict[str, int]:
        """As `count_workers`, of now. Raises RedisError if Redis does not answer."""
        redis = redis or self._redis
        found = {name: get_keys(queue=queue) for name, queue in self._make_queues(redis).items()}
        return {name: int(redis.exists(*keys)) if keys else 0 for name, keys in found.items()}

    def close(self) -> None:
        self._redis.close()
        self._glancing_redis.close()
