"""The sweep: what becomes of dead leases and of rows that nobody was told of."""

import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat

import pytest
from redis import Redis
from rq.intermediate_queue import IntermediateQueue
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import OperationalError

from app.database import Database, create_database
from app.lifecycle import claims
from app.lifecycle.claims import Claim, PackedCheckpoint
from app.lifecycle.sweep import OutageMemory, SweepReport
from app.lifecycle.sweep import sweep as sweep_once
from app.models import IdempotencyKey, Selection
from app.queue import Doorbell, JobQueue
from app.settings import Settings
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import make_result, make_submission
from tests.outages import absent

QUEUE = "rq:queue:lens"
STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"
Sweep = Callable[..., SweepReport]


@pytest.fixture
def queue(settings: Settings) -> Iterator[JobQueue]:
    """A queue that allows a job sixty seconds to claim."""
    made = JobQueue(settings.model_copy(update={"lease_seconds": 60.0}))
    yield made
    made.close()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A lease shorter than the time for which Postgres has run. Otherwise the sweep waits for living workers."""
    return settings.model_copy(update={"lease_seconds": 0.01, "lease_renew_seconds": 0.005})


def age(database: Database, column: str, seconds: float) -> None:
    """Set a stamp of all selections back."""
    run_sql(database, f"UPDATE selections SET {column} = now() - make_interval(secs => :s)", s=seconds)


def read(database: Database, selection_id: str) -> Selection:
    with database.session_scope() as session:
        return session.get_one(Selection, selection_id)


@pytest.fixture
def redis(settings: Settings) -> Iterator[Redis]:
    with Redis.from_url(settings.redis_url) as made:
        yield made


@pytest.fixture
def sweep(database: Database, queue: JobQueue, settings: Settings) -> Sweep:
    """Sweep once; a queue, settings and a memory of outages may take the place of the usual ones."""

    def run(queue: JobQueue = queue, settings: Settings = settings, outages: OutageMemory | None = None) -> SweepReport:
        return sweep_once(database, queue, settings, outages)

    return run


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
    selections: Selections,
    sweep: Sweep,
    database: Database,
    status: str,
    lease_seconds: float | None,
    crashes: int,
    after: str,
) -> None:
    selection_id = selections.in_state(status)
    with database.session_scope() as session:
        session.execute(update(Selection).values(crashes=crashes))
    if lease_seconds is not None:
        age(database, "lease_until", -lease_seconds)
    sweep()
    stored = read(database, selection_id)
    was_dead = after != status
    assert (stored.status, stored.crashes) == (after, crashes + was_dead)
    assert (stored.lease_until is None) == (after not in {"running", "cancelling"})


@pytest.mark.parametrize(("crashes", "seconds"), [(0, 5), (1, 10), (98, 3600)])
def test_rescued_selection_waits_longer_after_each_crash(
    selections: Selections, sweep: Sweep, database: Database, settings: Settings, crashes: int, seconds: int
) -> None:
    selections.running(lease_seconds=-1)
    with database.session_scope() as session:
        session.execute(update(Selection).values(crashes=crashes))
    assert sweep(settings=settings.model_copy(update={"max_attempts": 100})) == SweepReport(rescued=1)
    with database.session_scope() as session:
        wait = session.scalar(select(func.extract("epoch", Selection.not_before - Selection.queued_at)))
    assert float(wait or 0) == seconds


def test_further_attempt_goes_before_selections_that_have_not_begun(
    selections: Selections, sweep: Sweep, database: Database, redis: Redis
) -> None:
    claim = selections.running()
    new = selections.in_state("queued")
    with database.session_scope() as session:
        assert claims.release(session, claim)
    age(database, "queued_at", 3600)
    age(database, "not_before", 1)
    sweep()

    waiting = [job.decode() for job in redis.lrange(QUEUE, 0, -1)]

    assert waiting[0] == Doorbell(claim.selection_id, 2).job_id
    assert Doorbell(new, 1).job_id in waiting


@pytest.mark.parametrize(("crashes", "status"), [(0, "queued"), (2, "failed")])
def test_stall_is_charged_once_and_has_its_own_code(
    selections: Selections, sweep: Sweep, database: Database, settings: Settings, crashes: int, status: str
) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        session.execute(update(Selection).values(crashes=crashes))
    with database.session_scope() as session:
        assert claims.give_up_stalled(session, claim, 600.0, settings)
    with database.session_scope() as session:
        assert not claims.expire_lease(session, claim), "the parent reports the killed work-horse"
    sweep()

    stored = read(database, claim.selection_id)
    assert (stored.status, stored.crashes) == (status, crashes + 1)
    if stored.error is not None:
        assert stored.error["code"] == "stalled"
        assert "no progress for 600 s" in stored.error["detail"]


def test_selection_fails_after_its_last_attempt_and_says_why(
    selections: Selections, sweep: Sweep, database: Database
) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        claims.save_checkpoint(session, claim, PackedCheckpoint.of(Checkpoint("f", Phase.FILTER, 1, "float32")))
        session.execute(update(Selection).values(crashes=2))
    age(database, "lease_until", 1)
    assert sweep().failed == 1
    body = selections.client.get(f"/selections/{claim.selection_id}").json()
    assert body["error"]["code"] == "worker-crashed"
    assert "3 times" in body["error"]["detail"]
    assert body["failed_at"] is not None
    with database.session_scope() as session:
        assert claims.load_checkpoint(session, claim) is None


def test_rescue_keeps_the_checkpoint(selections: Selections, sweep: Sweep, database: Database) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        claims.save_checkpoint(session, claim, PackedCheckpoint.of(Checkpoint("f", Phase.FILTER, 1, "float32")))
        claims.expire_lease(session, claim)
    assert sweep().rescued == 1
    with database.session_scope() as session:
        assert claims.load_checkpoint(session, claim) is not None


def test_cancelled_selection_of_a_dead_worker_keeps_its_best(
    selections: Selections, sweep: Sweep, database: Database
) -> None:
    claim, best = selections.cancelling(), make_result(StopReason.CANCELLED)
    with database.session_scope() as session:
        checkpoint = Checkpoint("f", Phase.SEARCH, 1, "float32")
        claims.save_checkpoint(session, claim, PackedCheckpoint.of(checkpoint, best))
        claims.expire_lease(session, claim)
    assert sweep() == SweepReport(cancelled=1)
    stored = read(database, claim.selection_id)
    assert (stored.status, stored.partial, stored.digest, stored.crashes) == ("cancelled", True, best.digest, 1)


def test_broken_row_keeps_no_other_from_its_rescue(
    selections: Selections, sweep: Sweep, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    made = [selections.running(lease_seconds=-1).selection_id for _ in range(3)]
    with database.session_scope() as session:  # the crash to count is out of the range of the column
        session.execute(update(Selection).where(Selection.id == made[1]).values(crashes=2**31 - 1))
    assert sweep().rescued == 2
    assert [selections.status_of(id_) for id_ in made] == ["queued", "running", "queued"]
    assert f"{made[1]} cannot be rescued (DataError, SQLSTATE 22003)" in caplog.text


def test_any_number_of_dead_leases_is_rescued_and_enqueued(
    selections: Selections, sweep: Sweep, database: Database
) -> None:
    selections.running(lease_seconds=-1)
    columns = "owner_id, dataset_id, spec, spec_version, status, attempt, lease_until"
    with database.session_scope() as session:
        copies = "FROM selections, generate_series(1, 450) AS number"
        session.execute(
            text(f"INSERT INTO selections (id, {columns}) SELECT 'sel_copy_' || number, {columns} {copies}")
        )
    assert sweep().rescued == 451
    age(database, "not_before", 0)
    assert sweep().enqueued == 451


def test_leases_are_spared_until_a_lease_after_an_outage(
    selections: Selections, sweep: Sweep, settings: Settings
) -> None:
    claim = selections.running(lease_seconds=-1)
    seconds = 0.0
    outages = OutageMemory(lambda: seconds)
    with absent(settings), pytest.raises(OperationalError):
        sweep(outages=outages)
    assert sweep(outages=outages) == SweepReport()
    assert selections.status_of(claim.selection_id) == "running"
    seconds += settings.lease_seconds
    assert sweep(outages=outages).rescued == 1


def test_leases_are_spared_until_a_lease_after_a_hang_of_postgres(
    selections: Selections, sweep: Sweep, settings: Settings
) -> None:
    claim = selections.running(lease_seconds=-1)
    hang_seconds = settings.lease_seconds + 1
    readings = chain([0.0], repeat(hang_seconds))  # the lock took as long
    assert sweep(outages=OutageMemory(lambda: next(readings))) == SweepReport()
    assert selections.status_of(claim.selection_id) == "running"
    assert sweep().rescued == 1


def test_leases_are_spared_until_a_lease_after_a_start_of_postgres(
    selections: Selections, sweep: Sweep, settings: Settings
) -> None:
    claim = selections.running(lease_seconds=-1)
    longer_than_postgres_runs = settings.model_copy(update={"lease_seconds": 1e6})
    assert sweep(settings=longer_than_postgres_runs) == SweepReport()
    assert selections.status_of(claim.selection_id) == "running"
    assert sweep().rescued == 1


def test_slow_statement_is_no_outage_and_delays_no_rescue(
    selections: Selections, database: Database, queue: JobQueue, settings: Settings
) -> None:
    outages = OutageMemory(lambda: 0.0)
    hurried = create_database(settings.model_copy(update={"statement_timeout_seconds": 0.5}), pool_size=1)
    with database.session_scope() as session:
        for _ in range(2):
            claim = selections.running(lease_seconds=-1)
            session.execute(text("LOCK TABLE idempotency_keys"))
            with pytest.raises(OperationalError, match="statement timeout"):
                sweep_once(hurried, queue, settings, outages)
            assert selections.status_of(claim.selection_id) == "queued"
    hurried.dispose()


def test_selections_that_redis_lost_are_enqueued_again(
    selections: Selections, sweep: Sweep, database: Database, redis: Redis
) -> None:
    made = [selections.queued() for _ in range(3)]
    age(database, "queued_at", 16)
    redis.flushall()
    assert sweep() == SweepReport(enqueued=3)
    assert redis.lrange(QUEUE, 0, -1) == [f"{id_}-1".encode() for id_ in made]
    assert sweep() == SweepReport()
    assert redis.llen(QUEUE) == 3


def test_selections_that_redis_lost_keep_the_order_of_the_queue(
    selections: Selections, sweep: Sweep, database: Database, redis: Redis
) -> None:
    selections.queued()
    columns = "owner_id, dataset_id, spec, spec_version"
    copies = "'sel_copy_' || number, now() - make_interval(secs => 10 * number)"
    with database.session_scope() as session:
        session.execute(
            text(
                f"INSERT INTO selections (id, queued_at, {columns}) SELECT {copies}, {columns} "
                "FROM selections, generate_series(2, 450) AS number"
            )
        )
    redis.flushall()
    assert sweep() == SweepReport(enqueued=449)
    expected = [f"sel_copy_{number}-1".encode() for number in range(450, 1, -1)]
    assert redis.lrange(QUEUE, 0, -1) == expected


def test_new_selection_is_left_to_the_request_that_made_it(selections: Selections, sweep: Sweep, redis: Redis) -> None:
    selections.queued()
    redis.flushall()
    assert sweep() == SweepReport()
    assert redis.llen(QUEUE) == 0


def test_released_selection_is_enqueued_at_once_as_its_next_attempt(
    selections: Selections, sweep: Sweep, database: Database, redis: Redis
) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        claims.release(session, claim)
    assert sweep() == SweepReport(enqueued=1)
    assert f"{claim.selection_id}-2".encode() in redis.lrange(QUEUE, 0, -1)


def test_selection_in_backoff_is_not_enqueued(selections: Selections, sweep: Sweep, database: Database) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        claims.expire_lease(session, claim)
    assert sweep() == SweepReport(rescued=1)
    assert sweep() == SweepReport()
    age(database, "not_before", 0)
    assert sweep() == SweepReport(enqueued=1)


@pytest.mark.parametrize(
    ("status", "missed_for", "enqueued"),
    [("started", 0, 0), ("started", 300, 1), ("queued", 0, 0), ("queued", 300, 1), ("failed", 0, 1), ("stopped", 0, 1)],
)
def test_job_that_left_the_queue_has_as_long_as_a_lease_to_claim(
    selections: Selections, sweep: Sweep, database: Database, status: str, missed_for: int, enqueued: int, redis: Redis
) -> None:
    job_id = f"{selections.queued()}-1"
    age(database, "queued_at", 3600)
    redis.delete(QUEUE)
    long_ago, parent_is_alive = (
        (datetime.now(UTC) - timedelta(seconds=seconds)).strftime(STAMP) for seconds in (3600, 0)
    )
    stamps = {"enqueued_at": long_ago, "last_heartbeat": parent_is_alive}
    redis.hset(f"rq:job:{job_id}", mapping={"status": status, **stamps})
    if missed_for:
        assert sweep().enqueued == 0
        _let_pass(redis, job_id, missed_for)
    assert sweep().enqueued == enqueued
    assert redis.llen(QUEUE) == enqueued


def test_job_that_is_enqueued_again_has_a_lease_again(
    selections: Selections, sweep: Sweep, database: Database, redis: Redis
) -> None:
    job_id = f"{selections.queued()}-1"
    age(database, "queued_at", 3600)
    redis.delete(QUEUE)
    assert sweep().enqueued == 0
    _let_pass(redis, job_id, 300)
    assert sweep().enqueued == 1
    redis.delete(QUEUE)
    assert sweep().enqueued == 0


def test_job_whose_execution_has_expired_keeps_no_other_from_the_queue(
    selections: Selections, sweep: Sweep, database: Database, redis: Redis
) -> None:
    job_ids = [f"{selections.queued()}-1" for _ in range(2)]
    age(database, "queued_at", 3600)
    redis.delete(QUEUE)
    redis.delete(f"rq:job:{job_ids[1]}")
    redis.hset(f"rq:job:{job_ids[0]}", "status", "stopped")
    _list_lost_execution(redis, job_ids[0])

    assert sweep() == SweepReport(enqueued=2)
    assert sorted(id_.decode() for id_ in redis.lrange(QUEUE, 0, -1)) == sorted(job_ids)


def test_job_whose_execution_has_expired_can_be_withdrawn(
    selections: Selections, queue: JobQueue, redis: Redis
) -> None:
    doorbell = Doorbell(selections.queued(), 1)
    _list_lost_execution(redis, doorbell.job_id)

    queue.withdraw(doorbell)

    assert not redis.exists(f"rq:job:{doorbell.job_id}")
    assert redis.llen(QUEUE) == 0


def _list_lost_execution(redis: Redis, job_id: str) -> None:
    """What RQ keeps for a minute of an execution whose worker died."""
    redis.zadd(f"rq:executions:{job_id}", {"e": time.time() + 60})


def _let_pass(redis: Redis, job_id: str, seconds: float) -> None:
    """Move the first sweep that missed the job into the past."""
    key = IntermediateQueue(QUEUE, redis).get_first_seen_key(job_id)
    assert redis.exists(key)
    redis.set(key, time.time() - seconds)


def test_sweep_while_redis_is_away_still_rescues(
    selections: Selections, sweep: Sweep, database: Database, settings: Settings
) -> None:
    claim = selections.running()
    selections.queued()
    age(database, "queued_at", 16)
    with database.session_scope() as session:
        claims.expire_lease(session, claim)
    away = JobQueue(settings.model_copy(update={"redis_url": "unix:///nowhere.sock"}))
    assert sweep(away) == SweepReport(rescued=1)


def test_only_one_sweeps_at_a_time(selections: Selections, sweep: Sweep, database: Database) -> None:
    claim = selections.running(lease_seconds=-1)
    with database.session_scope() as session:
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x6C656E73_01})
        assert sweep() == SweepReport(skipped=True)
    assert sweep().rescued == 1
    assert selections.status_of(claim.selection_id) == "queued"


def test_row_that_a_worker_is_writing_is_skipped(
    selections: Selections, sweep: Sweep, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    claim = selections.running(lease_seconds=-1)
    with database.session_scope() as session:
        claims.renew_lease(session, claim, 60)
        assert sweep() == SweepReport()
    assert sweep() == SweepReport()
    assert selections.status_of(claim.selection_id) == "running"
    assert "cannot be rescued" not in caplog.text


def test_keys_are_kept_for_a_day(selections: Selections, sweep: Sweep, database: Database) -> None:
    for key in ("old", "young"):
        selections.client.post("/selections", json=make_submission(), headers={"Idempotency-Key": key})
    with database.session_scope() as session:
        for key, hours in (("old", 25), ("young", 23)):
            aged = func.now() - func.make_interval(0, 0, 0, 0, hours)
            session.execute(update(IdempotencyKey).where(IdempotencyKey.key == key).values(created_at=aged))
    sweep()
    with database.session_scope() as session:
        assert list(session.scalars(select(IdempotencyKey.key))) == ["young"]


def test_second_ring_of_one_attempt_is_swallowed(queue: JobQueue, redis: Redis) -> None:
    assert [queue.enqueue(Doorbell("sel_1", 1)) for _ in range(50)] == [True] + [False] * 49
    assert redis.llen(QUEUE) == 1


def test_payload_is_the_id_in_json(queue: JobQueue, redis: Redis) -> None:
    queue.enqueue(Doorbell("sel_1", 1))
    data = redis.hget("rq:job:sel_1-1", "data")
    assert isinstance(data, bytes)
    assert json.loads(zlib.decompress(data)) == ["worker.jobs.run_selection", None, ["sel_1"], {}]


def test_sweep_stops_attempts_of_selections_that_ended_or_are_gone(
    selections: Selections, sweep: Sweep, database: Database, settings: Settings, redis: Redis
) -> None:
    ended, fresh, held = selections.cancelling(), selections.cancelling(), selections.running()
    with database.session_scope() as session:
        for claim in (ended, fresh):
            claims.finish_cancelled(session, claim)
        old = "UPDATE selections SET cancelled_at = now() - interval '6 seconds' WHERE id = :id"
        session.execute(text(old), {"id": ended.selection_id})
    gone = Claim("sel_gone", 1)
    for claim in (ended, fresh, held, gone):
        redis.zadd("rq:wip:lens", {f"{claim.selection_id}-{claim.attempt}:execution": 2e10})
    queue = RecordingQueue(settings)

    sweep(queue)

    assert queue.stopped == {Doorbell(claim.selection_id, 1) for claim in (ended, gone)}
    queue.close()


class RecordingQueue(JobQueue):
    """A queue without workers, which notes what it is told to stop."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.stopped: set[Doorbell] = set()

    def stop(self, doorbells: Iterable[Doorbell]) -> set[Doorbell]:
        self.stopped |= set(doorbells)
        return set()
