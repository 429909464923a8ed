"""The sweep: what becomes of dead leases and of rows that nobody was told of."""

import json
import zlib
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from app.lifecycle import claims, endings
from app.lifecycle.claims import PackedCheckpoint
from app.lifecycle.endings import Crash
from app.lifecycle.sweep import Settling, SweepReport
from app.settings import Settings
from app.store.database import Database
from app.store.queue import JobId, JobQueue
from lens_engine.run.state import Checkpoint
from lens_engine.types import Phase
from tests.integration.conftest import MakeClient, Selections, Sweep, run_sql
from tests.integration.samples import make_submission
from tests.outages import absent, read_only

QUEUE = "rq:queue:lens"


def age(database: Database, column: str, seconds: float) -> None:
    """Set a stamp of all selections back."""
    run_sql(database, f"UPDATE jobs SET {column} = now() - make_interval(secs => :s)", s=seconds)


@pytest.mark.parametrize(
    ("status", "lease_seconds", "crashes", "after"),
    [
        ("running", 60, 0, "running"),
        ("running", -1, 0, "queued"),
        ("running", -1, 1, "queued"),
        ("running", -1, 2, "failed"),
        ("cancelling", 60, 0, "cancelling"),
        ("cancelling", -1, 0, "cancelled"),
        ("cancelling", -1, 2, "cancelled"),
        ("succeeded", None, 0, "succeeded"),
        ("failed", None, 0, "failed"),
        ("cancelled", None, 0, "cancelled"),
    ],
)
def test_sweep_moves_exactly_the_dead(
    selections: Selections, sweep: Sweep, status: str, lease_seconds: float | None, crashes: int, after: str
) -> None:
    selection_id = selections.in_state(status)
    selections.sql(f"UPDATE jobs SET crashes = {crashes}")
    if lease_seconds is not None:
        age(selections.database, "lease_until", -lease_seconds)
    sweep()
    stored = selections.read(selection_id)
    was_dead = after != status
    assert (stored.status, stored.crashes) == (after, crashes + was_dead)
    assert (stored.lease_until is None) == (after not in {"running", "cancelling"})


@pytest.mark.parametrize(("crashes", "seconds"), [(0, 5), (1, 10), (98, 3600)])
def test_rescued_selection_waits_longer_after_each_crash(
    selections: Selections, sweep: Sweep, settings: Settings, crashes: int, seconds: int
) -> None:
    selections.running(lease_seconds=-1)
    selections.sql(f"UPDATE jobs SET crashes = {crashes}")
    assert sweep(settings=settings.model_copy(update={"max_attempts": 100})) == SweepReport(rescued=1)
    assert selections.sql("SELECT extract(epoch FROM not_before - queued_at) FROM jobs") == seconds


@pytest.mark.parametrize(("crashes", "status"), [(0, "queued"), (2, "failed")])
def test_stall_is_counted_once_and_has_its_own_code(
    selections: Selections, sweep: Sweep, settings: Settings, crashes: int, status: str
) -> None:
    claim = selections.running()
    selections.sql(f"UPDATE jobs SET crashes = {crashes}")
    assert selections.transact(endings.requeue, claim, crash=Crash.stalled(settings, 600.0))
    assert not selections.transact(endings.requeue, claim, crash=Crash.died(settings)), "the parent reports its death"
    sweep()

    stored = selections.read(claim.job_id)
    assert (stored.status, stored.crashes) == (status, crashes + 1)
    if stored.error is not None:
        assert stored.error["code"] == "stalled"
        assert "no progress for 600 s" in stored.error["detail"]


def test_selection_fails_after_its_last_attempt_and_says_why(selections: Selections, sweep: Sweep) -> None:
    claim = selections.running()
    packed = PackedCheckpoint.of(Checkpoint("f", Phase.FILTER, 1, "float32"))
    selections.transact(claims.save_checkpoint, claim, packed)
    selections.sql("UPDATE jobs SET crashes = 2")
    age(selections.database, "lease_until", 1)
    assert sweep().failed == 1
    body = selections.client.get(f"/selections/{claim.job_id}").json()
    assert body["error"]["code"] == "worker-crashed"
    assert "3 attempts" in body["error"]["detail"]
    assert body["failed_at"] is not None
    assert selections.transact(claims.load_checkpoint, claim) is None


def test_broken_row_keeps_no_other_back(selections: Selections, sweep: Sweep, caplog: pytest.LogCaptureFixture) -> None:
    made = [selections.running(lease_seconds=-1).job_id for _ in range(3)]
    most = 2**31 - 1  # the crash to count is out of the range of the column
    selections.sql("UPDATE jobs SET crashes = :most WHERE id = :id", most=most, id=made[1])
    assert sweep().rescued == 2
    assert [selections.status_of(id_) for id_ in made] == ["queued", "running", "queued"]
    assert f"{made[1]} cannot be rescued (DataError, SQLSTATE 22003)" in caplog.text


def test_any_number_of_dead_leases_is_rescued_and_enqueued(selections: Selections, sweep: Sweep, redis: Redis) -> None:
    selections.running(lease_seconds=-1)
    columns = "owner_id, dataset_id, spec, status, attempt, lease_until"
    copies = "FROM jobs, generate_series(1, 450) AS number"
    selections.sql(f"INSERT INTO jobs (id, {columns}) SELECT 'sel_copy_' || number, {columns} {copies}")
    assert sweep().rescued == 451
    age(selections.database, "not_before", 0)
    sweep()
    assert redis.llen(QUEUE) == 451


def test_leases_are_spared_for_a_lease_after_outages(selections: Selections, sweep: Sweep, settings: Settings) -> None:
    seconds = 0.0
    settling = Settling(settings.lease_seconds, lambda: seconds)
    claim = selections.running(lease_seconds=-1)

    def sweep_for(duration: int) -> bool:
        nonlocal seconds
        for _ in range(0, duration, 15):
            assert sweep(settling=settling) == SweepReport()
            seconds += 15
        return selections.status_of(claim.job_id) == "running"

    assert sweep_for(60), "nobody knows what was before the start"
    seconds += 120
    with absent(settings), pytest.raises(OperationalError):
        sweep(settling=settling)
    assert sweep_for(60)
    assert sweep(settling=settling).rescued == 1


def test_jobs_that_redis_lost_are_enqueued_again(selections: Selections, sweep: Sweep, redis: Redis) -> None:
    for _ in range(3):
        selections.queued()
    redis.flushall()
    assert sweep() == SweepReport(enqueued=3)
    assert len(set(redis.lrange(QUEUE, 0, -1))) == 3
    assert sweep() == SweepReport()
    assert redis.llen(QUEUE) == 3


def test_queue_is_filled_up_whichever_jobs_it_holds(selections: Selections, sweep: Sweep, redis: Redis) -> None:
    """Jobs of RQ only wake workers, so those of other jobs serve as well."""
    made = [selections.queued() for _ in range(3)]
    redis.rename(f"rq:job:{made[0]}-1", "rq:job:another")
    redis.lrem(QUEUE, 1, f"{made[0]}-1")
    redis.lpush(QUEUE, "another")
    assert sweep() == SweepReport()
    redis.lpop(QUEUE)
    assert sweep() == SweepReport(enqueued=1)


def test_queue_of_servers_is_filled_up_by_itself(
    make_client: MakeClient, database: Database, settings: Settings, sweep: Sweep, redis: Redis
) -> None:
    changes = {"endpoints": {"served": {"kind": "vllm", "url": "http://h", "model": "m"}}}
    mixed = Settings.model_validate({**settings.model_dump(), **changes})
    jobs = Selections(make_client(**changes), database)
    for model in ("served", settings.default_model, "served"):
        jobs.queued(model=model)
    redis.delete(f"{QUEUE}-endpoints")
    queue = JobQueue(mixed)
    assert sweep(queue=queue, settings=mixed) == SweepReport(enqueued=2)
    assert (redis.llen(QUEUE), redis.llen(f"{QUEUE}-endpoints")) == (1, 2)
    queue.close()


def test_job_that_a_worker_takes_is_not_enqueued_again(selections: Selections, sweep: Sweep, redis: Redis) -> None:
    selections.queued()
    redis.lmove(QUEUE, f"{QUEUE}:intermediate", "LEFT", "RIGHT")
    assert sweep() == SweepReport()


def test_job_that_a_worker_left_between_lists_wakes_nobody(selections: Selections, sweep: Sweep, redis: Redis) -> None:
    """A worker that stops just after it took a job leaves it there, and RQ finds it only after many minutes."""
    redis.rpush(f"{QUEUE}:intermediate", "sweep-of-yesterday")
    selections.queued()
    redis.delete(QUEUE)
    sweep()
    assert sweep() == SweepReport(enqueued=1)
    assert redis.llen(QUEUE) == 1


def test_sweep_while_redis_is_away_still_rescues(selections: Selections, sweep: Sweep, settings: Settings) -> None:
    selections.running(lease_seconds=-1)
    selections.queued()
    age(selections.database, "queued_at", 16)
    away = JobQueue(settings.model_copy(update={"redis_url": "unix:///nowhere.sock"}))
    assert sweep(queue=away) == SweepReport(rescued=1)


def test_only_one_sweeps_at_a_time(selections: Selections, sweep: Sweep, database: Database) -> None:
    claim = selections.running(lease_seconds=-1)
    with database.session_scope() as session:
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x6C656E73_01})
        assert sweep() == SweepReport(skipped=True)
    assert sweep().rescued == 1
    assert selections.status_of(claim.job_id) == "queued"


def test_row_under_a_write_is_skipped(selections: Selections, sweep: Sweep, caplog: pytest.LogCaptureFixture) -> None:
    claim = selections.running(lease_seconds=-1)
    with selections.database.session_scope() as session:
        claims.renew_lease(session, claim, 60)
        assert sweep() == SweepReport()
    assert sweep() == SweepReport()
    assert selections.status_of(claim.job_id) == "running"
    assert "cannot be rescued" not in caplog.text


def test_keys_are_kept_for_a_day(selections: Selections, sweep: Sweep, database: Database) -> None:
    for key in ("old", "young"):
        selections.client.post("/selections", json=make_submission(), headers={"Idempotency-Key": key})
    for key, hours in (("old", 25), ("young", 23)):
        change = f"UPDATE idempotency_keys SET created_at = now() - interval '{hours} h' WHERE key = :key"
        run_sql(database, change, key=key)
    sweep()
    assert run_sql(database, "SELECT array_agg(key) FROM idempotency_keys") == ["young"]


def test_job_of_one_attempt_is_enqueued_once(queue: JobQueue, redis: Redis) -> None:
    for _ in range(50):
        queue.enqueue(JobId("sel_1", 1))
    assert redis.llen(QUEUE) == 1


def test_payload_is_the_id_in_json(queue: JobQueue, redis: Redis) -> None:
    queue.enqueue(JobId("sel_1", 1))
    data = redis.hget("rq:job:sel_1-1", "data")
    assert isinstance(data, bytes)
    assert json.loads(zlib.decompress(data)) == ["worker.jobs.run_job", None, ["sel_1"], {}]


def test_leases_are_spared_after_writes_were_refused(selections: Selections, sweep: Sweep, settings: Settings) -> None:
    now = [0.0]
    settling = Settling(settings.lease_seconds, lambda: now[0])
    for now[0] in range(0, 61, 15):
        sweep(settling=settling)
    claim = selections.running(lease_seconds=-1)
    with read_only(settings), pytest.raises(OperationalError):
        sweep(settling=settling)
    assert sweep(settling=settling) == SweepReport()
    assert selections.status_of(claim.job_id) == "running"


@pytest.mark.parametrize("in_statement", ["FOR UPDATE SKIP LOCKED", "DELETE FROM checkpoints"], ids=["rescue", "last"])
def test_leases_are_spared_after_a_hang_in_the_middle_of_a_sweep(
    selections: Selections, sweep: Sweep, settings: Settings, in_statement: str
) -> None:
    now = [0.0]
    settling = Settling(settings.lease_seconds, lambda: now[0])
    for now[0] in range(0, 61, 15):
        sweep(settling=settling)
    is_last = in_statement.startswith("DELETE")
    claim = selections.running(lease_seconds=60 if is_last else -1)

    def hang(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        now[0] += 61 if in_statement in statement else 0

    event.listen(selections.database.engine, "before_cursor_execute", hang)
    try:
        assert sweep(settling=settling) == SweepReport()
    finally:
        event.remove(selections.database.engine, "before_cursor_execute", hang)
    age(selections.database, "lease_until", 1)
    assert now[0] > 120, "it hung"
    assert sweep(settling=settling) == SweepReport()
    assert selections.status_of(claim.job_id) == "running"
