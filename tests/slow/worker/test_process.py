"""Parts of the worker process that need no Redis: allowed jobs, and the death of a work-horse."""

import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
from redis import Redis
from rq.exceptions import StopRequested
from rq.serializers import JSONSerializer
from rq.worker import HerokuWorker

from app.lifecycle.claims import Claim
from app.store.queue import RUN_JOB
from worker.jobs import run_job
from worker.parent import REPORT, JobResult
from worker.process import ForbiddenJobError, GuardedJob, JobWorker

UNREACHABLE = Redis(unix_socket_path="/nonexistent")


def restored_job(function: str, *, instance: str | None = None, **fields: str) -> GuardedJob:
    """A job as the worker reads it from Redis, with fields that a foreign program wrote."""
    job = GuardedJob("sel_1-1", connection=UNREACHABLE, serializer=JSONSerializer)
    data = zlib.compress(json.dumps([function, instance, ["sel_1"], {}]).encode())
    raw: dict[bytes, bytes] = {name.encode(): value.encode() for name, value in fields.items()}
    job.restore({b"data": data, **raw})
    return job


@pytest.mark.parametrize(
    ("function", "instance"),
    [("os.system", None), ("worker.jobs.execute_selection", None), ("", None), (RUN_JOB, "text")],
)
def test_other_function_and_method_of_an_instance_are_refused(function: str, instance: str | None) -> None:
    with pytest.raises(ForbiddenJobError, match="only worker\\.jobs\\.run_job is allowed"):
        _ = restored_job(function, instance=instance).func


def test_run_job_is_allowed() -> None:
    assert restored_job(RUN_JOB).func is run_job


@pytest.mark.parametrize("kind", ["success", "failure", "stopped"])
def test_callback_is_dropped(kind: str) -> None:
    job = restored_job(RUN_JOB, **{f"{kind}_callback_name": "os.system"})
    assert getattr(job, f"{kind}_callback") is None


def test_webhooks_and_retries_are_dropped() -> None:
    webhook = '[{"url": "http://169.254.169.254/", "job_status": "failed"}]'
    job = restored_job(RUN_JOB, webhooks=webhook, retries_left="3", repeats_left="3")
    assert job.webhooks == []
    assert job.retries_left is None
    assert job.repeats_left is None


PARENT = """
import os, time
from worker.parent import die_with_parent

parent = os.getpid()
child = os.fork()
if child == 0:
    die_with_parent(parent)
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(600)
os.waitpid(child, 0)
"""


@contextmanager
def running(script: str) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_work_horse_dies_with_its_killed_parent() -> None:
    with running(PARENT) as parent:
        assert parent.stdout is not None
        horse = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
        horse.wait(10)  # raises if the work-horse still runs


def test_work_horse_of_a_dead_parent_exits() -> None:
    script = "from worker.parent import die_with_parent; die_with_parent(1 << 30); raise SystemExit(0)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 1


IDLE = """
import signal, time
from worker.parent import leave_in_time
signal.signal(signal.SIGTERM, lambda *_: exit(time.sleep(9) or 1))  # the last words to a Redis that is away
leave_in_time(None, lambda: 0, lambda: None)
signal.raise_signal(signal.SIGTERM)
"""


def test_idle_worker_does_not_wait_for_redis() -> None:
    assert subprocess.run([sys.executable, "-c", IDLE], check=False).returncode == 0


KILLER = """
import os, signal, subprocess, sys
from redis import Redis
from app.settings import Settings
from worker.process import JobWorker

connection = Redis(unix_socket_path="/nonexistent")
worker = JobWorker(["lens"], connection=connection, settings=Settings(), prepare_for_work=False)
worker.kill_horse()  # there is none
horse = subprocess.Popen(["sleep", "600"], start_new_session={new_group})
worker._horse_pid = horse.pid
worker.kill_horse()
raise SystemExit(0 if horse.wait(10) == -signal.SIGKILL else 1)
"""


@pytest.mark.parametrize("new_group", [True, False], ids=["of a group of its own", "right after the fork"])
def test_kill_ends_the_work_horse_and_not_the_worker(new_group: bool) -> None:
    script = KILLER.format(new_group=new_group)
    assert subprocess.run([sys.executable, "-c", script], check=False, start_new_session=True).returncode == 0


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs jobs of a worker, each given by its id and its result."""
    worker = object.__new__(JobWorker)
    worker._faulted = set()

    def run(*jobs: tuple[str, JobResult]) -> None:
        for id_, result in jobs:

            def work(_self: Any, _job: Any, _queue: Any, id_: str = id_, result: JobResult = result) -> None:
                REPORT.result = result
                REPORT.claim = Claim(id_, 1)

            monkeypatch.setattr(HerokuWorker, "execute_job", work)
            worker.execute_job(restored_job(RUN_JOB), None)  # type: ignore[arg-type]

    yield run
    REPORT.clear()


def test_two_jobs_that_meet_a_fault_stop_the_worker(judged: Any) -> None:
    with pytest.raises(StopRequested):
        judged(("sel_1", "unfit"), ("sel_2", "unfit"))


def test_one_job_that_meets_a_fault_at_each_attempt_does_not_stop_the_worker(judged: Any) -> None:
    judged(*[("sel_1", "unfit")] * 3, ("sel_2", "fit"), ("sel_3", "unfit"))
