"""The file that tells a health check whether a worker lives; an idle worker ends when it is asked to."""

import os
import signal
from pathlib import Path

from rq import Worker as RqWorker

from app.store.tables import Status
from tests.e2e.processes import Worker
from tests.e2e.stack import Stack
from tests.e2e.waiting import until

LONG_AGO = (0, 0)


def is_fresh(path: Path) -> bool:
    return path.exists() and path.stat().st_mtime > LONG_AGO[1]


def test_worker_touches_its_file_when_it_has_started_and_with_each_job(lens: Stack, tmp_path: Path) -> None:
    path = tmp_path / "health"
    worker = lens.start_worker(LENS_WORKER_HEALTH_FILE=str(path))
    until(lambda: is_fresh(path), "the worker touches its file")
    os.utime(path, LONG_AGO)

    lens.wait_for(lens.submit(model="held"), Status.SUCCEEDED)
    until(lambda: is_fresh(path), "a job touches the file")

    end_idle(lens, worker)


def test_worker_that_does_not_start_leaves_no_file(lens: Stack, tmp_path: Path) -> None:
    path = tmp_path / "health"
    path.touch()  # of the process before

    models = '{"held": "testing:tests.e2e.scorers:held", "ours": "/nowhere"}'
    worker = lens.start_worker(LENS_WORKER_HEALTH_FILE=str(path), LENS_ALLOWED_MODELS=models)

    assert worker.wait(60) == 2, worker.log()
    assert not path.exists()


def end_idle(lens: Stack, worker: Worker) -> None:
    """A worker that waits for work ends at once."""
    until(lambda: [one.get_state() for one in RqWorker.all(connection=lens.redis)] == ["idle"], "the worker waits")
    worker.send(signal.SIGTERM)
    assert worker.wait(20) == 0
