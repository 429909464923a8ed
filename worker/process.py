"""The worker process: a parent that waits for jobs, and a forked work-horse for each job.

The parent never imports torch, so every work-horse starts clean and returns all its memory at exit. Other than in plain
RQ, the work-horse dies with its parent, the parent kills it when its attempt is over, a shutdown reaches the job at
once, and a worker that is unfit stops.
"""

import logging
import os
import signal
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from redis import Redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.retry import Retry
from rq import Queue
from rq.exceptions import StopRequested
from rq.executions import Execution
from rq.job import Job

from app.lean_imports import leave_pandas_out
from app.logs import describe
from app.settings import Settings
from app.store.queue import SERIALIZER
from app.worker_device import REDIS_FIELD
from worker.device import Device
from worker.faults import WorkerFault
from worker.hardened_rq import GuardedJob, TolerantWorker, tolerating_refusals
from worker.horse import REPORT, JobResult, die_with_parent
from worker.parent import AttemptWatch, handle_crash

FAULTS_TO_STOP = 2
"""Number of different jobs in a row that end by a fault of the worker, after which the worker stops."""

_log = logging.getLogger(__name__)


class WorkerMetrics:
    """What the parent process knows. What runs did is in Postgres, and /metrics of the API shows it."""

    def __init__(self, device: Device | None = None) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._jobs = Counter(
            "lens_worker_jobs", "Jobs by `result`; unknown: not claimed, or died.", ["result"], registry=self.registry
        )
        self._busy = Gauge("lens_worker_busy", "Whether a job is under way (1 or 0).", registry=self.registry)
        for result in get_args(JobResult):
            self._jobs.labels(result)
        if device is not None:
            about = Gauge("lens_worker_info", "Device of this worker; always 1.", ["device"], registry=self.registry)
            about.labels(device.torch_name).set(1)

    def begin_job(self) -> None:
        self._busy.set(1)

    def end_job(self, result: JobResult) -> None:
        self._busy.set(0)
        self._jobs.labels(result).inc()


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

    def __init__(self, *args: Any, settings: Settings, device: Device | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings, self._device = settings, device
        self.metrics = WorkerMetrics(device)
        self._health_file = HealthFile(settings.worker_health_file)
        self._faulted: set[str] = set()  #: ids of the jobs that met a fault since the last sound one

    def serialize(self) -> dict[str, Any]:
        """The worker's hash in Redis, with the device."""
        device = {} if self._device is None else {REDIS_FIELD: self._device.register().model_dump_json()}
        return {**super().serialize(), **device}

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Stop after different jobs in a row met a fault of this worker: another one may be sound, and a worker that
        fails within seconds would take every job before a sound one can. A job that meets a fault at each attempt
        counts once, as the fault may lie in what only this job has."""
        REPORT.clear()
        self.metrics.begin_job()
        with tolerating_refusals():
            super().execute_job(job, queue)
        self.metrics.end_job(REPORT.result)
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
        leave_pandas_out()
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

    def _install_signal_handlers(self) -> None:
        super()._install_signal_handlers()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGUSR1, self.request_drain)

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
        work_horse_killed_handler=partial(handle_crash, settings),
        device=device,
        settings=settings,
    )
