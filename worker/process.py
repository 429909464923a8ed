"""The worker process: a parent that waits for jobs, and a forked work-horse for each job.

The parent never imports torch, so every work-horse starts clean and returns all its memory at exit.
Seven things differ from plain RQ: the work-horse dies with its parent, the parent kills it when its attempt is over, a
shutdown reaches the job at once, the worker runs only jobs of the service, a worker that is unfit stops, a Redis that
refuses to write (out of memory, disk full, a replica) ends neither the worker nor its run, and a worker that is told to
leave does so although Redis is away.
"""

import ctypes
import logging
import mmap
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
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

from app.lean_imports import leave_pandas_out
from app.logs.failures import describe
from app.queue import RUN_JOB, SERIALIZER
from app.settings import Settings
from app.worker_device import REDIS_FIELD
from worker.crash import CrashHandler
from worker.device import Device
from worker.faults import WorkerFault
from worker.health_file import HealthFile
from worker.horse_report import REPORT
from worker.leaving import has_exited, leave_soon
from worker.metrics import JOB_RESULTS, WorkerMetrics
from worker.watch import AttemptWatch

_PR_SET_PDEATHSIG = 1

FAULTS_TO_STOP = 2
"""Number of different jobs in a row that end by a fault of the worker, after which the worker stops."""

_REFUSAL_PAUSE_SECONDS = 1.0
_FIT, _UNFIT, _UNKNOWN = range(len(JOB_RESULTS))
_log = logging.getLogger(__name__)


class ForbiddenJobError(Exception):
    """A job asks for a function other than `run_job`. A foreign program writes to this Redis."""


class GuardedJob(Job):
    """A job of RQ that can only run `run_job`.

    Anyone who can write to Redis can enqueue any dotted name, callback or webhook. A JSON serializer
    does not prevent this, so this class refuses other functions and drops callbacks and webhooks.
    """

    has_run = False  #: whether a job was claimed, and did not end by a fault; known in the work-horse
    is_performing = False

    def perform(self) -> Any:
        self.is_performing = True
        try:
            self.has_run = bool(super().perform())
        finally:
            self.is_performing = False

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


class JobWorker(HerokuWorker):
    """RQ's worker for platforms that stop processes with SIGTERM.

    SIGTERM to the parent raises ShutDownImminentException inside the job at once. The job then
    releases what it has claimed, and the worker ends within seconds.
    """

    imminent_shutdown_delay = 0
    job_class = GuardedJob

    def __init__(self, *args: Any, settings: Settings, device: Device | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings = settings
        self._device = device
        self.metrics = WorkerMetrics(device)
        self._health_file = HealthFile(settings.worker_health_file)
        self._verdict = mmap.mmap(-1, 1)  # memory that a forked work-horse shares with its parent
        self._own_job: Job | None = None  #: of a work-horse
        self._faulted: set[str] = set()  #: ids of the jobs that met a fault since the last sound one

    def serialize(self) -> dict[str, Any]:
        """The worker's hash in Redis, with the device."""
        device = {} if self._device is None else {REDIS_FIELD: self._device.register().model_dump_json()}
        return {**super().serialize(), **device}

    def execute_job(self, job: Job, queue: Queue) -> None:
        """
        Raises:
            StopRequested: different jobs in a row met a fault of this worker. Another worker may be sound, and a worker
                that fails within seconds would take every job before a sound one can. A job that meets a fault at
                each attempt counts once: the fault may lie in what only this job has.
        """
        self._verdict[0] = _UNKNOWN
        REPORT.claim = None
        self.metrics.begin_job()
        with bearing_refusals():
            super().execute_job(job, queue)
        self.metrics.end_job(JOB_RESULTS[self._verdict[0]])
        if self._verdict[0] == _FIT:
            self._faulted.clear()
        elif self._verdict[0] == _UNFIT:
            claim = REPORT.claim
            self._faulted.add(job.id if claim is None else claim.job_id)
        if len(self._faulted) >= FAULTS_TO_STOP:
            _log.critical("%d jobs in a row met a fault of this worker (see above); it stops", len(self._faulted))
            raise StopRequested

    def perform_job(self, job: Job, queue: Queue, execution: Execution) -> bool:
        is_done = bool(super().perform_job(job, queue, execution))
        if isinstance(job, GuardedJob) and job.has_run:
            self._verdict[0] = _FIT
        return is_done

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        if isinstance(exc_info[1], WorkerFault):
            self._verdict[0] = _UNFIT
        _log.error("job %s ends by an error", job.id, exc_info=exc_info, extra={"action": "job-failed"})

    def handle_job_failure(self, job: Job, queue: Queue, *args: Any, **kwargs: Any) -> None:
        """Store the failure in Redis without the message of its error, which may hold a text."""
        if (error := sys.exc_info()[1]) is not None:
            kwargs["exc_string"] = describe(error)
        super().handle_job_failure(job, queue, *args, **kwargs)

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        """Renew the worker's entry, and register again in a Redis that lost everything."""
        with bearing_refusals():
            super().heartbeat(timeout, pipeline)
            if pipeline is None:
                self._register_again()
        self._health_file.touch()

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        with bearing_refusals():
            super().maintain_heartbeats(job, execution)
            self._register_again()

    def monitor_work_horse(self, job: Job, queue: Queue, execution: Execution) -> None:
        watch = AttemptWatch(self._settings, self.kill_horse)
        watch.start()
        try:
            super().monitor_work_horse(job, queue, execution)
        finally:
            watch.close()

    def set_shutdown_requested_date(self) -> None:
        """Called by a signal handler: an error would come out of the wait for the work-horse, and leave it alone."""
        with bearing_refusals():
            super().set_shutdown_requested_date()  # type: ignore[no-untyped-call]

    def check_for_suspension(self, burst: bool) -> None:
        with bearing_refusals():
            super().check_for_suspension(burst)

    def run_maintenance_tasks(self) -> None:
        with bearing_refusals():
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
            self.connection.hset(self.key, mapping=self.serialize())  # type: ignore[arg-type]
        register(self)

    def _drop_unreadable_ids(self) -> None:
        """Forget ids that are no text. Whoever can write to Redis can leave one, and RQ would end at each."""
        for queue in self.queues:
            for key in (queue.key, queue.intermediate_queue_key):
                for id_ in self.connection.lrange(key, 0, -1):
                    if not _is_text(id_):
                        self.connection.lrem(key, 0, id_)  # type: ignore[arg-type]
                        _log.warning("the queue held an id that is no text; it was dropped")

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        die_with_parent(self.pid)
        leave_pandas_out()
        self._own_job = job
        super().main_work_horse(job, queue)

    def request_force_stop_sigrtmin(self, signum: int, frame: FrameType | None) -> None:
        """The work-horse of a worker that was told to end: it gives its job back, and tells Redis if that answers."""
        leave_soon(lambda: not (isinstance(self._own_job, GuardedJob) and self._own_job.is_performing))
        super().request_force_stop_sigrtmin(signum, frame)  # type: ignore[no-untyped-call]

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

    def _install_signal_handlers(self) -> None:
        super()._install_signal_handlers()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGUSR1, self.request_drain)

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """As RQ does; but a Redis that is away does not keep the process once its work-horse has ended."""
        if os.getpid() == self.pid:
            horse = self.horse_pid
            leave_soon(lambda: not horse or has_exited(horse))
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]

    def request_drain(self, _signum: int, _frame: FrameType | None) -> None:
        """Take no further job, and end after the one under way. SIGTERM still releases that one at once."""
        if os.getpid() != self.pid:
            return  # a work-horse, which inherits this handler
        _log.info("the worker drains: it takes no further job", extra={"action": "drain"})
        self._shutdown_requested_date = datetime.now(UTC)
        self._shutdown()  # type: ignore[no-untyped-call]

    @property
    def was_asked_to_stop(self) -> bool:
        """Whether a signal ended the work loop. Otherwise an error did, which RQ only logs."""
        return self._shutdown_requested_date is not None


@contextmanager
def bearing_refusals() -> Iterator[None]:
    """Log an error that Redis answers, and go on: a run needs no Redis, and the sweep enqueues what is lost."""
    try:
        yield
    except ResponseError as error:
        _warn_of_refusal(error)


def _warn_of_refusal(error: ResponseError) -> None:
    reason = str(error).partition(" ")[0]  # OOM, MISCONF, READONLY
    _log.warning("Redis refuses (%s); the worker goes on", reason, extra={"action": "redis-refuses"})


def _is_text(value: bytes | str) -> bool:
    try:
        return isinstance(value, str) or value.decode() is not None
    except UnicodeDecodeError:
        return False


def create_worker(settings: Settings, device: Device | None = None) -> JobWorker:
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
        work_horse_killed_handler=CrashHandler(settings),
        device=device,
        settings=settings,
    )


def die_with_parent(parent_id: int | None) -> None:
    """Ask the kernel to kill this process when its parent dies for any reason (Linux).

    A work-horse that outlived its parent would compete with the attempt that replaces it and keep the
    GPU's memory. If the parent died before the request was made, this process exits now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_id:
        os._exit(1)
