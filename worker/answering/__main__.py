"""`python -m worker.answering HOST PORT`: answers at once until a signal. `lens answers` starts it."""

import logging
import sys

import uvicorn
from prometheus_client import CollectorRegistry, ProcessCollector

from app.answering.answering import Answering
from app.answering.client import AnsweringMetrics
from app.answering.models import Models
from app.logs import configure_logging
from app.model_settings import is_loopback
from app.settings import Settings
from app.web.draining import DrainingServer
from worker.answering.server import AnsweringServer
from worker.answering.weights import Weights, find_most_bytes
from worker.device import Device, UnfitWorker, find_device
from worker.inspection import weigh_models

EXIT_FAILED, EXIT_UNFIT = 1, 2
_KEEP_ALIVE_SECONDS = 75
"""Longer than the API keeps a connection that it does not use."""

_GRACE_SECONDS = 5
_MOST_FAULTS = 3
"""Batches in a row that end by an unexpected error: then the device may be broken, and a new process may help."""

_log = logging.getLogger(__name__)


def main(host: str, port: int) -> int:
    """Answer until a signal, and return the exit code."""
    settings = Settings()
    configure_logging(settings.log_level, settings.log_format)
    try:
        device = _inspect(settings, host)
    except UnfitWorker as refusal:
        _log.critical("the process that answers at once does not start: %s", refusal)
        return EXIT_UNFIT
    # A cluster has its actors for selections. A device that was lost must not become the processor.
    settings = settings.model_copy(update={"ray_address": None, "device": device.torch_name})
    server = make_server(settings, device, host, port)
    server.run()
    return 0 if server.started and not server.has_failed else EXIT_FAILED


class Server(DrainingServer):
    """Ends by itself when too many batches fail."""

    has_failed = False

    def note_fault(self, in_a_row: int) -> None:
        if in_a_row >= _MOST_FAULTS:
            self.has_failed = self.should_exit = True


def make_server(settings: Settings, device: Device, host: str, port: int) -> Server:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    metrics = AnsweringMetrics(registry)
    most_bytes = find_most_bytes(settings, device)
    models = Models(Weights(settings), most_bytes, metrics.note_load)
    _log.info("answers at once on %s, with at most %d MiB of weights", device, most_bytes >> 20)

    def note_fault(in_a_row: int) -> None:
        server.note_fault(in_a_row)

    answering = Answering(models, note_batch=metrics.note_batch, note_fault=note_fault)
    app = AnsweringServer(answering, models, settings.max_index_mib << 20, settings.answers_token, registry).make_app()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        http="h11",
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
    )
    server = Server(config, drain_seconds=0.0)
    return server


def _inspect(settings: Settings, host: str) -> Device:
    """Check the address, the models and the device.

    Raises:
        UnfitWorker: as `weigh_models` and `find_device`; or there is no model to load, or no token where one is needed.
    """
    if settings.answers_token is None and not is_loopback(host):
        raise UnfitWorker(f"without LENS_ANSWERS_TOKEN it listens on this machine only (127.0.0.1), not on {host}")
    if not settings.allowed_models:
        raise UnfitWorker("LENS_ALLOWED_MODELS names no model; the API itself asks those behind servers")
    weigh_models(settings)
    return find_device(settings)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], int(sys.argv[2])))
