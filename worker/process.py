"""The worker process: a parent that waits for jobs, and a forked work-horse for each of them.

The parent never imports torch, so that every work-horse starts clean and gives all its memory back
when it exits. What RQ does is left alone but for three things: the work-horse dies with its parent,
a shutdown reaches the job at once, and no job but a selection is run.
"""

import ctypes
import os
import signal
import sys
from typing import Any

from redis import Redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.retry import Retry
from rq import Queue
from rq.job import Job
from rq.worker import HerokuWorker

from app.queue import RUN_SELECTION, SERIALIZER
from app.settings import Settings
from worker.crash import CrashHandler

_PR_SET_PDEATHSIG = 1


class ForbiddenJobError(Exception):
    """A job named a function other than the selection's, so somebody else writes to our Redis."""


class SelectionJob(Job):
    """A job that can be nothing but a selection.

    Whoever can write to Redis can enqueue any dotted name, callback or webhook; a JSON serializer
    does not prevent it, so what a job asks for beyond a selection's id is dropped or refused here.
    """

    @property
    def func(self) -> Any:
        if self.func_name != RUN_SELECTION or self.instance is not None:
            raise ForbiddenJobError(f"job {self.id} asks for {self.func_name!r}; only {RUN_SELECTION} is run")
        return super().func

    def restore(self, raw_data: Any) -> Any:
        super().restore(raw_data)
        self._success_callback_name = None
        self._failure_callback_name = None
        self._stopped_callback_name = None
        self.webhooks = []
        self.retries_left = None  # the sweep is the only retry authority
        self.repeats_left = None


class SelectionWorker(HerokuWorker):
    """RQ's worker for platforms that stop processes by SIGTERM.

    SIGTERM to the parent becomes a ShutDownImminentException inside the job, at once: the job
    releases its selection and the worker is gone within seconds.
    """

    imminent_shutdown_delay = 0
    job_class = SelectionJob

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        die_with_parent(self.pid)
        super().main_work_horse(job, queue)

    @property
    def was_asked_to_stop(self) -> bool:
        """Whether the work loop ended by a signal, rather than by an error that RQ only logs."""
        return self._shutdown_requested_date is not None


def create_worker(settings: Settings) -> SelectionWorker:
    """A worker on the one queue of selections.

    One queue and no more: only then does RQ move a job's id atomically, so that a crash between
    taking it and starting it does not lose it.
    """
    # Ten minutes of patience: a restart of Redis must not end a run.
    patience = Retry(ExponentialWithJitterBackoff(base=0.5, cap=5), 120)
    return SelectionWorker(
        [settings.queue_name],
        connection=Redis.from_url(settings.redis_url, retry=patience),
        serializer=SERIALIZER,
        worker_ttl=60,
        maintenance_interval=60,
        job_monitoring_interval=15,
        log_job_description=False,
        work_horse_killed_handler=CrashHandler(settings),
    )


def die_with_parent(parent_id: int | None) -> None:
    """Have the kernel kill this process when its parent dies, however the parent dies.

    A work-horse that outlived a killed parent would go on beside the attempt that replaces it and
    hold the GPU's memory. The parent may have died before the request was made; then exit now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_id:
        os._exit(1)
