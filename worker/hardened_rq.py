"""RQ's job and worker for a Redis that refuses to write, forgets, or holds what a foreign program wrote.

A Redis refuses when it is out of memory, its disk is full, or it became a replica. A run needs no Redis, and the sweep
enqueues what is lost, so nothing of this ends a worker or its run.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from redis.exceptions import ResponseError
from rq import Queue
from rq.executions import Execution
from rq.job import Job
from rq.utils import as_text
from rq.worker import HerokuWorker
from rq.worker_registration import register

from app.store.queue import RUN_JOB

_REFUSAL_PAUSE_SECONDS = 1.0
_log = logging.getLogger(__name__)


@contextmanager
def tolerating_refusals() -> Iterator[None]:
    """Log an error that Redis answers, and go on."""
    try:
        yield
    except ResponseError as error:
        _warn_of_refusal(error)


def _warn_of_refusal(error: ResponseError) -> None:
    reason = str(error).partition(" ")[0]  # OOM, MISCONF, READONLY
    _log.warning("Redis refuses (%s); the worker goes on", reason, extra={"action": "redis-refuses"})


class ForbiddenJobError(Exception):
    """A job asks for a function other than `run_job`. A foreign program writes to this Redis."""


class GuardedJob(Job):
    """A job of RQ that can only run `run_job`.

    Anyone who can write to Redis can enqueue any dotted name, callback or webhook. A JSON serializer
    does not prevent this, so this class refuses other functions and drops callbacks and webhooks.
    """

    has_run = False  #: whether a job was claimed, and did not end by a fault; known in the work-horse

    def perform(self) -> None:
        self.has_run = bool(super().perform())

    @property
    def func(self) -> Any:
        if self.func_name != RUN_JOB or self.instance is not None:
            raise ForbiddenJobError(f"job {self.id} asks for {self.func_name!r}; only {RUN_JOB} is allowed")
        return super().func

    def restore(self, raw_data: Any) -> Any:
        super().restore(raw_data)
        self._success_callback_name = None
        self._failure_callback_name = None
        self._stopped_callback_name = None
        self.webhooks = []
        self.retries_left = None  # only the sweep retries
        self.repeats_left = None


class TolerantWorker(HerokuWorker):
    """RQ's worker for platforms that stop processes with SIGTERM."""

    job_class = GuardedJob

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        """Renew the worker's entry, and register again in a Redis that lost everything."""
        with tolerating_refusals():
            super().heartbeat(timeout, pipeline)
            if pipeline is None:
                self._register_again()

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        with tolerating_refusals():
            super().maintain_heartbeats(job, execution)
            self._register_again()

    # Called by a signal handler: an error would come out of the wait for the work-horse, and leave it alone.
    set_shutdown_requested_date = tolerating_refusals()(HerokuWorker.set_shutdown_requested_date)
    check_for_suspension = tolerating_refusals()(HerokuWorker.check_for_suspension)

    def run_maintenance_tasks(self) -> None:
        with tolerating_refusals():
            self._drop_unreadable_ids()
            try:
                super().run_maintenance_tasks()  # type: ignore[no-untyped-call]
            except ValueError:  # an entry that RQ cannot read; a foreign program writes to this Redis
                _log.warning("an entry of the queue is unreadable; its upkeep waits", extra={"action": "foreign-entry"})
                self.last_cleaned_at = datetime.now(UTC)  # type: ignore[assignment]

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        while True:
            try:
                return super().dequeue_job_and_maintain_ttl(timeout, max_idle_time)
            except ResponseError as error:
                _warn_of_refusal(error)
                time.sleep(_REFUSAL_PAUSE_SECONDS)
            except ValueError:  # an id that is no text, or a job that RQ cannot read
                self._drop_unreadable_ids()
                time.sleep(_REFUSAL_PAUSE_SECONDS)

    def _register_again(self) -> None:
        if not self.connection.hexists(self.key, "birth"):
            self.connection.hset(self.key, mapping=self.serialize())
        register(self)

    def _drop_unreadable_ids(self) -> None:
        """Forget ids that are no text. Whoever can write to Redis can leave one, and RQ would end at each."""
        for queue in self.queues:
            for key in (queue.key, queue.intermediate_queue_key):
                for id_ in self.connection.lrange(key, 0, -1):
                    try:
                        as_text(id_)
                    except UnicodeDecodeError:
                        self.connection.lrem(key, 0, id_)  # type: ignore[arg-type]
                        _log.warning("the queue held an id that is no text; it was dropped")
