"""`python -m worker`: a process that runs jobs, one at a time."""

import logging
import os
from collections.abc import Callable

from app.logs import configure_logging
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, opened_database
from app.store.schema import current_revision, is_behind, own_revisions
from lens_engine.model.local.choices import let_threads_sleep
from worker.inspection import Device, UnfitWorker, inspect
from worker.parent import leave_in_time
from worker.process import HealthFile, create_worker

EXIT_FAILED = 1
EXIT_UNFIT = 2

_log = logging.getLogger(__name__)


def main(look: Callable[[Settings], Device] = inspect) -> int:
    """Run jobs until a signal, and return the exit code.

    `look`: checks the models and the device; raises UnfitWorker.
    """
    let_threads_sleep()
    settings = Settings()
    configure_logging(settings.log_level, settings.log_format)
    HealthFile(settings.worker_health_file).remove()
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
    worker = create_worker(settings)
    leave_in_time(settings, lambda: worker.horse_pid, worker.kill_horse)
    worker.work(with_scheduler=False)
    return 0 if worker.was_asked_to_stop else EXIT_FAILED


def check_schema(settings: Settings) -> None:
    """End a worker whose Postgres has an older schema than this release. No connection is open at the first fork.

    A newer schema is fine: it is migrated before the workers of the release before have ended.
    """
    try:
        with opened_database(settings) as database, database.session_scope() as session:
            if is_behind(session.connection()):
                found = current_revision(session.connection()) or "none"
                raise SystemExit(
                    f"the database schema is at revision {found}, and this release needs {own_revisions()[-1]}; "
                    "run `lens migrate`"
                )
    except POSTGRES_AWAY as error:
        _log.warning("Postgres does not answer; the worker waits for it (%s)", type(error).__name__)


if __name__ == "__main__":
    raise SystemExit(main())
