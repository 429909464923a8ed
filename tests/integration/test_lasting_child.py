"""A process of `lens up` that ends: it is started again, unless it never came up."""

import os
import signal
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

from app.settings import Settings
from lens_cli.service.embedded import ChildFailed, ChildSpec
from lens_cli.service.embedded.child import MAX_LOG_BYTES
from lens_cli.service.stack import FIRST_PAUSE_SECONDS, LastingChild, is_registered
from tests.e2e.waiting import until


@pytest.fixture
def redis(settings: Settings) -> "Redis":
    return Redis.from_url(settings.redis_url, decode_responses=True)


def register(redis: Redis, pid: int, age: timedelta = timedelta(0)) -> None:
    """As RQ's worker does."""
    birth = datetime.now(UTC) - age
    redis.sadd("rq:workers", "rq:worker:one")
    redis.hset("rq:worker:one", mapping={"pid": pid, "birth": f"{birth:%Y-%m-%dT%H:%M:%S.%fZ}"})


def start(redis: Redis, folder: Path, script: str, said: list[str]) -> LastingChild:
    spec = ChildSpec("the worker", ["/bin/sh", "-c", script], folder / "worker.log")
    return LastingChild(spec, partial(is_registered, redis), said.append)


def test_worker_that_never_came_up_ends_the_service(redis: Redis, tmp_path: Path) -> None:
    said = list[str]()
    worker = start(redis, tmp_path, "echo the worker does not start: no GPU; exit 2", said)
    register(redis, worker.pid, age=timedelta(hours=1))  # left by an earlier process of the same number
    with pytest.raises(ChildFailed, match=r"the worker ended with exit code 2; .*\nthe worker does not start: no GPU"):
        until(lambda: worker.look_after(), "the end is noticed")
    assert said == []


def test_worker_that_ends_is_started_again_after_a_pause_that_grows(redis: Redis, tmp_path: Path) -> None:
    said = list[str]()
    worker = start(redis, tmp_path, "echo last words; exec sleep 600", said)
    register(redis, worker.pid)
    pids, log = [worker.pid], tmp_path / "worker.log"
    for num_before, number in enumerate((signal.SIGKILL, signal.SIGTERM)):
        until(lambda: log.read_text().count("last words") > num_before, "the program runs")  # noqa: B023
        worker.look_after()
        os.kill(pids[-1], number)
        until(lambda: worker.look_after() or worker.pid != pids[-1], "another worker runs")
        pids.append(worker.pid)
    worker.stop()
    assert FIRST_PAUSE_SECONDS == 1
    assert said == [
        "The worker was killed by SIGKILL, usually by the system, because memory ran out. It starts again in 1 s. "
        "Its last line: last words",
        "The worker was killed by SIGTERM, end number 2 in a row. It starts again in 2 s. Its last line: last words",
    ]


def test_large_log_of_a_worker_is_begun_anew(redis: Redis, tmp_path: Path) -> None:
    worker = start(redis, tmp_path, "exec sleep 600", [])
    os.truncate(tmp_path / "worker.log", MAX_LOG_BYTES)
    worker.look_after()
    worker.stop()
    assert (tmp_path / "worker.log.1").stat().st_size == MAX_LOG_BYTES
    assert (tmp_path / "worker.log").stat().st_size == 0
