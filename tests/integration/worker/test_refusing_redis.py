"""A Redis that answers with errors, or that lost everything, does not end a worker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from redis import Redis
from rq.executions import Execution
from rq.worker_registration import get_keys

from app.settings import Settings
from app.store.queue import RUN_JOB, SERIALIZER
from worker.process import GuardedJob, JobWorker, create_worker


@pytest.fixture
def worker(settings: Settings) -> Iterator[JobWorker]:
    made = create_worker(settings)
    made.register_birth()
    yield made
    made.register_death()


@contextmanager
def refusing(redis: Redis) -> Iterator[None]:
    """Redis has no memory for a write, and may evict nothing."""
    redis.config_set("maxmemory", 1)
    try:
        yield
    finally:
        redis.config_set("maxmemory", 0)


def test_refusals_end_neither_heartbeat_nor_upkeep(worker: JobWorker, redis: Redis) -> None:
    job = GuardedJob.create(RUN_JOB, id="sel_1-1", connection=worker.connection, serializer=SERIALIZER)
    execution = Execution("one", job.id, connection=worker.connection)
    with refusing(redis):
        worker.heartbeat()
        worker.maintain_heartbeats(job, execution)
        worker.run_maintenance_tasks()


def test_idle_worker_waits_until_redis_takes_writes_again(worker: JobWorker, redis: Redis) -> None:
    redis.config_set("maxmemory", 1)
    recovery = threading.Timer(1.5, lambda: redis.config_set("maxmemory", 0))
    recovery.start()
    try:
        assert worker.dequeue_job_and_maintain_ttl(None) is None
    finally:
        recovery.join()
        redis.config_set("maxmemory", 0)


def test_worker_registers_again_after_redis_lost_everything(worker: JobWorker, redis: Redis) -> None:
    redis.flushdb()
    worker.heartbeat()
    assert get_keys(queue=worker.queues[0]) == {worker.key}
    assert redis.hget(worker.key, "birth") is not None
