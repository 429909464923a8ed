"""`python -m worker`: a process that runs jobs, one at a time."""

import logging
import os
from collections.abc import Callable

from app.logs.setup import configure_logging
from app.settings import Settings
from worker.device import Device, UnfitWorker
from worker.health_file import HealthFile
from worker.inspection import inspect
from worker.metrics import serve_metrics
from worker.process import create_worker
from worker.releases import hand_in_releases
from worker.startup import check_schema

EXIT_FAILED = 1
EXIT_UNFIT = 2

_log = logging.getLogger(__name__)


def main(look: Callable[[Settings], Device] = inspect) -> int:
    """Run jobs until a signal, and return the exit code.

    Args:
        look: checks the models and the device; raises UnfitWorker.
    """
    settings = Settings()
    configure_logging(settings.log_level, settings.log_format)
    HealthFile(settings.worker_health_file).remove()
    hand_in_releases(settings)  # first: the look at the models may take longer than a lease
    try:
        device = look(settings)
        return _work(settings, device)
    except UnfitWorker as refusal:
        _log.critical("the worker does not start: %s", refusal)
        return EXIT_UNFIT


def _work(settings: Settings, device: Device) -> int:
    # Work-horses read the settings anew. With "auto" one that cannot see the GPU would compute on the processor.
    if settings.worker_models == "weights":
        os.environ["LENS_DEVICE"] = device.torch_name
    check_schema(settings)
    worker = create_worker(settings, device)
    serve_metrics(worker.metrics, settings)
    worker.work(with_scheduler=False)
    return 0 if worker.was_asked_to_stop else EXIT_FAILED


if __name__ == "__main__":
    raise SystemExit(main())
