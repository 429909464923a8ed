"""A cancel ends a selection within seconds, in a step that takes long; a health check sees whether a worker lives."""

import os
import signal
import time
from pathlib import Path

from rq import Worker as RqWorker

from app.store.tables import Status
from tests.e2e.processes import is_gone
from tests.e2e.stack import IN_THE_SEARCH, Stack
from tests.e2e.waiting import until

SECONDS = 10.0
LONG_AGO = (0, 0)


def is_fresh(path: Path) -> bool:
    return path.exists() and path.stat().st_mtime > LONG_AGO[1]


def test_cancel_in_a_step_that_takes_long_keeps_the_best_and_the_worker(lens: Stack, tmp_path: Path) -> None:
    """The worker touches its file at its start and with each job, and ends at once if asked to while it waits."""
    path = tmp_path / "health"
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker(LENS_WORKER_HEALTH_FILE=str(path))
    until(lambda: is_fresh(path), "the worker touches its file")
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    horse, asked = worker.wait_for_horse(), time.monotonic()

    lens.cancel(selection_id)
    selection = lens.wait_until_done(selection_id)

    assert time.monotonic() - asked < SECONDS
    until(lambda: is_gone(horse), "the work-horse ends itself", seconds=5)
    assert (selection["status"], selection["partial"]) == (Status.CANCELLED, True)
    assert selection["stop_reason"] == "cancelled"
    result = lens.client.get(f"/selections/{selection_id}/result").json()
    assert len(result["support_examples"][0]["examples"]) == 2
    lens.check_invariants()
    lens.let_go()
    os.utime(path, LONG_AGO)
    assert lens.wait_until_done(lens.submit())["status"] == Status.SUCCEEDED
    until(lambda: is_fresh(path), "a job touches the file")
    until(lambda: [one.get_state() for one in RqWorker.all(connection=lens.redis)] == ["idle"], "the worker waits")
    worker.send(signal.SIGTERM)
    assert worker.wait(20) == 0


def test_worker_that_does_not_start_leaves_no_file(lens: Stack, tmp_path: Path) -> None:
    path = tmp_path / "health"
    path.touch()  # of the process before

    models = '{"held": "testing:tests.e2e.scorers:held", "ours": "/nowhere"}'
    worker = lens.start_worker(LENS_WORKER_HEALTH_FILE=str(path), LENS_ALLOWED_MODELS=models)

    assert worker.wait(60) == 2, worker.log()
    assert not path.exists()
