"""The worker process: a parent that waits for jobs, and a forked work-horse for each job.

The parent never imports torch, so every work-horse starts clean and returns all its memory at exit. Other than in plain
RQ, the work-horse dies with its parent, the parent kills it when its attempt is over, a shutdown reaches the job at
once, and a worker that is unfit stops.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from redis import Redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry
from rq import Queue
from rq.exceptions import StopRequested
from rq.executions import Execution
from rq.job import Job
from rq.worker import HerokuWorker
from rq.worker_registration import register

from app.logs import describe
from app.settings import Settings
from app.store.queue import RUN_JOB, SERIALIZER
from worker.faults import WorkerFault
from worker.parent import REPORT, AttemptWatch, die_with_parent, handle_crash

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

    run_maintenance_tasks = tolerating_refusals()(HerokuWorker.run_maintenance_tasks)

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        while True:
            try:
                return super().dequeue_job_and_maintain_ttl(timeout, max_idle_time)
            except ResponseError as error:
                _warn_of_refusal(error)
                time.sleep(_REFUSAL_PAUSE_SECONDS)

    def _register_again(self) -> None:
        if not self.connection.hexists(self.key, "birth"):
            self.connection.hset(self.key, mapping=self.serialize())
        register(self)


FAULTS_TO_STOP = 2
"""Number of different jobs in a row that end by a fault of the worker, after which the worker stops."""


@dataclass(frozen=True, slots=True)
class HealthFile:
    """A file that a worker touches at each heartbeat, because it answers no requests: a supervisor compares its age."""

    path: Path | None  #: None: no file is touched

    def remove(self) -> None:
        """Remove what the process before left: it must not speak for a worker that does not start."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def touch(self) -> None:
        """Set the time of the file to now. A folder that refuses it is logged, and ends nothing."""
        try:
            if self.path is not None:
                self.path.touch()
        except OSError as error:
            _log.warning(
                "LENS_WORKER_HEALTH_FILE cannot be touched (%s)", error.strerror, extra={"action": "health-file"}
            )


class JobWorker(TolerantWorker):
    """Runs the jobs of the service, one at a time.

    SIGTERM to the parent raises ShutDownImminentException inside the job at once. The job then
    releases what it has claimed, and the worker ends within seconds.
    """

    imminent_shutdown_delay = 0

    def __init__(self, *args: Any, settings: Settings, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings = settings
        self._health_file = HealthFile(settings.worker_health_file)
        self._faulted: set[str] = set()  #: ids of the jobs that met a fault since the last sound one

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Stop after different jobs in a row met a fault of this worker: another one may be sound, and a worker that
        fails within seconds would take every job before a sound one can. A job that meets a fault at each attempt
        counts once, as the fault may lie in what only this job has."""
        REPORT.clear()
        with tolerating_refusals():
            super().execute_job(job, queue)
        if REPORT.result == "fit":
            self._faulted.clear()
        elif REPORT.result == "unfit":
            claim = REPORT.claim
            self._faulted.add(job.id if claim is None else claim.job_id)
        if len(self._faulted) >= FAULTS_TO_STOP:
            _log.critical("%d jobs in a row met a fault of this worker (see above); it stops", len(self._faulted))
            raise StopRequested

    def perform_job(self, job: Job, queue: Queue, execution: Execution) -> bool:
        is_done = bool(super().perform_job(job, queue, execution))
        if isinstance(job, GuardedJob) and job.has_run:
            REPORT.result = "fit"
        return is_done

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        if isinstance(exc_info[1], WorkerFault):
            REPORT.result = "unfit"
        _log.error("job %s ends by an error", job.id, exc_info=exc_info, extra={"action": "job-failed"})

    def handle_job_failure(self, job: Job, queue: Queue, *args: Any, **kwargs: Any) -> None:
        """Store the failure in Redis without the message of its error, which may hold a text."""
        if (error := sys.exc_info()[1]) is not None:
            kwargs["exc_string"] = describe(error)
        super().handle_job_failure(job, queue, *args, **kwargs)

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        super().heartbeat(timeout, pipeline)
        self._health_file.touch()

    def monitor_work_horse(self, job: Job, queue: Queue, execution: Execution) -> None:
        with closing(AttemptWatch(self._settings, self.kill_horse)) as watch:
            watch.start()
            super().monitor_work_horse(job, queue, execution)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        die_with_parent(self.pid)
        signal.set_wakeup_fd(-1)  # `leave_in_time` is its parent's
        super().main_work_horse(job, queue)

    def kill_horse(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """Kill the work-horse, and nothing else.

        RQ kills a process group. That of a work-horse which hangs right after the fork, or which was not forked yet,
        is the group of this process.
        """
        if not self.horse_pid:
            return
        try:
            group = os.getpgid(self.horse_pid)
            if group == os.getpgrp():
                os.kill(self.horse_pid, sig)
                return
        except ProcessLookupError:
            return
        super().kill_horse(sig)

    @property
    def was_asked_to_stop(self) -> bool:
        """Whether a signal ended the work loop. Otherwise an error did, which RQ only logs."""
        return self._shutdown_requested_date is not None


def create_worker(settings: Settings) -> JobWorker:
    """Create a worker on the queue of jobs.

    With exactly one queue, RQ moves a job's id atomically, so a crash between taking and starting a
    job does not lose the job.
    """
    # Retry for ten minutes, because a restart of Redis must not end a run.
    patience = Retry(ExponentialWithJitterBackoff(base=0.5, cap=5), 120)
    return JobWorker(
        [settings.worker_queue],
        connection=Redis.from_url(settings.redis_url, retry=patience),
        serializer=SERIALIZER,
        worker_ttl=60,
        maintenance_interval=60,
        job_monitoring_interval=15,
        log_job_description=False,
        work_horse_killed_handler=partial(handle_crash, settings),
        settings=settings,
    )
