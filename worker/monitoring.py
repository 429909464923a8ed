"""What operators see of a worker process: metrics on a port of their own, and a file whose age tells that it lives."""

import logging
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Literal, get_args
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, start_http_server

from app.settings import Settings
from worker.device import Device

JobResult = Literal["fit", "unfit", "unknown"]
"""unfit: by a fault of this worker; unknown: nothing was claimed, or the run died."""

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


def serve_metrics(metrics: WorkerMetrics, settings: Settings) -> tuple[WSGIServer, Thread] | None:
    """Answer on the port of the settings, if there is one, until this process ends. Returns the server and its thread.

    Raises:
        OSError: the port is taken, or the address is not of this machine.
    """
    if settings.worker_metrics_port is None:
        return None
    return start_http_server(settings.worker_metrics_port, settings.worker_metrics_host, metrics.registry)


@dataclass(frozen=True, slots=True)
class HealthFile:
    """A file that a worker touches at each heartbeat.

    A worker answers no requests, so a supervisor compares the age of this file. Put it where one worker alone writes:
    the folder for temporary files of a container, not a volume that workers share.
    """

    path: Path | None  #: None: no file is touched

    def remove(self) -> None:
        """Remove what the process before left: it must not speak for a worker that does not start."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def touch(self) -> None:
        """Set the time of the file to now. A folder that refuses it is logged, and ends nothing."""
        if self.path is None:
            return
        try:
            self.path.touch()
        except OSError as error:
            _log.warning(
                "LENS_WORKER_HEALTH_FILE cannot be touched (%s)", error.strerror, extra={"action": "health-file"}
            )
