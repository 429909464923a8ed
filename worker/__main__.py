"""`python -m worker`: a process that runs selections, one at a time."""

import logging

from app.settings import Settings
from worker.process import create_worker
from worker.startup import sweep_once


def main() -> int:
    settings = Settings()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sweep_once(settings)
    worker = create_worker(settings)
    worker.work(with_scheduler=False)
    return 0 if worker.was_asked_to_stop else 1


if __name__ == "__main__":
    raise SystemExit(main())
