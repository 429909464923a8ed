"""Redis loses, repeats, is away or is written to by a stranger: Postgres is the truth."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rq import Queue

from app.store.queue import SERIALIZER
from app.store.tables import Status
from lens_cli.service.embedded import EmbeddedServers
from tests.e2e.stack import Stack
from tests.e2e.waiting import until
from tests.outages import hung_redis


def test_an_id_delivered_twice_runs_once(lens: Stack) -> None:
    lens.hold_from(0)
    selection_id = lens.submit()
    jobs = Queue(lens.settings.queue_name, connection=lens.redis, serializer=SERIALIZER)
    for number in (8, 9):
        jobs.enqueue("worker.jobs.run_job", selection_id, job_id=f"{selection_id}-{number}")
    for _ in range(2):
        lens.start_worker()

    until(lambda: jobs.count == 0 and _is_not_claimed(lens), "the other deliveries are taken and turned down")
    lens.let_go()
    selection = lens.wait_until_done(selection_id)

    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 1)
    lens.check_invariants()


def test_a_hung_redis_does_not_hold_up_submissions_at_once(lens: Stack, servers: EmbeddedServers) -> None:
    def submit(_: int) -> tuple[str, float]:
        started = time.monotonic()
        return lens.submit(), time.monotonic() - started

    with hung_redis(servers), ThreadPoolExecutor(20) as pool:
        submitted = list(pool.map(submit, range(20)))
    assert max(waited for _, waited in submitted) < 3
    jobs = Queue(lens.settings.queue_name, connection=lens.redis, serializer=SERIALIZER)
    until(lambda: jobs.count >= len(submitted), "the sweep enqueues a job for each")


def test_a_stranger_s_job_is_not_run(lens: Stack, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    jobs = Queue(lens.settings.queue_name, connection=lens.redis, serializer=SERIALIZER)
    jobs.enqueue("os.system", f"touch {marker}", job_id="stranger-1")
    worker = lens.start_worker()
    selection_id = lens.submit()

    selection = lens.wait_until_done(selection_id)

    assert selection["status"] == Status.SUCCEEDED  # it came after the stranger's in the queue
    assert not marker.exists()
    assert "ForbiddenJobError" in worker.log()
    assert worker.exit_status is None


def _is_not_claimed(lens: Stack) -> bool:
    return sum(worker.log().count("no job was claimed") for worker in lens.workers) >= 2
