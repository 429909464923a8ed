"""The metrics of one worker process, for Prometheus, on a port of their own."""

from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, start_http_server

from app.settings import Settings
from worker.device import Device

JOB_RESULTS = ("fit", "unfit", "unknown")


class WorkerMetrics:
    """What the parent process knows. What runs did is in Postgres, and /metrics of the API shows it."""

    def __init__(self, device: Device | None = None) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._jobs = Counter(
            "lens_worker_jobs", "Jobs by `result`; unknown: not claimed, or died.", ["result"], registry=self.registry
        )
        self._busy = Gauge("lens_worker_busy", "Whether a job is under way (1 or 0).", registry=self.registry)
        for result in JOB_RESULTS:
            self._jobs.labels(result)
        if device is not None:
            about = Gauge("lens_worker_info", "Device of this worker; always 1.", ["device"], registry=self.registry)
            about.labels(device.torch_name).set(1)

    def begin_job(self) -> None:
        self._busy.set(1)

    def end_job(self, result: str) -> None:
        """`result`: `fit`, `unfit` by a fault of this worker, or `unknown` if nothing was claimed or the run died."""
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
