"""What the parent does after a work-horse was killed."""

from collections.abc import Iterator

import pytest
from redis import Redis
from rq.job import Job
from sqlalchemy import text

from app.database import Database
from app.lifecycle import claims
from app.lifecycle.claims import Claim, PackedCheckpoint
from app.queue import RUN_SELECTION, Doorbell
from app.settings import Settings
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import make_result
from worker.crash import CrashHandler

KILLED = 9
UNREACHABLE = "postgresql+psycopg://lens@/lens?host=/nonexistent"


@pytest.fixture
def redis(settings: Settings) -> Iterator[Redis]:
    with Redis.from_url(settings.redis_url) as client:
        yield client


def job_of(claim: Claim, redis: Redis) -> Job:
    doorbell = Doorbell(claim.selection_id, claim.attempt)
    return Job.create(RUN_SELECTION, id=doorbell.job_id, timeout=5, connection=redis)


def is_expired(database: Database, claim: Claim) -> bool:
    with database.session_scope() as session:
        query = text("SELECT lease_until <= now() FROM selections WHERE id = :id")
        return bool(session.execute(query, {"id": claim.selection_id}).scalar())


def test_lease_of_a_killed_work_horse_expires(
    selections: Selections, settings: Settings, database: Database, redis: Redis
) -> None:
    claim = selections.running()

    CrashHandler(settings)(job_of(claim, redis), 1, KILLED, None)

    assert is_expired(database, claim)


def test_death_of_a_zombie_keeps_the_next_lease(
    selections: Selections, settings: Settings, database: Database, redis: Redis
) -> None:
    successor = selections.running()
    zombie = Claim(successor.selection_id, successor.attempt - 1)

    CrashHandler(settings)(job_of(zombie, redis), 1, KILLED, None)

    assert not is_expired(database, successor)


def test_run_killed_at_its_time_limit_fails(selections: Selections, settings: Settings, redis: Redis) -> None:
    claim = selections.running()

    CrashHandler(settings)(job_of(claim, redis), None, None, None)

    selection = selections.client.get(f"/selections/{claim.selection_id}").json()
    assert selection["status"] == "failed"
    assert selection["error"]["code"] == "timeout"
    assert selection["error"]["instance"] == f"/selections/{claim.selection_id}"


def test_run_killed_at_its_time_limit_keeps_the_best_so_far(
    selections: Selections, settings: Settings, database: Database, redis: Redis
) -> None:
    claim = selections.running()
    best = make_result(stop_reason=StopReason.CANCELLED)
    with database.session_scope() as session:
        checkpoint = PackedCheckpoint.of(Checkpoint("f", Phase.SEARCH, 1, "float32"), best)
        claims.save_checkpoint(session, claim, checkpoint)

    CrashHandler(settings)(job_of(claim, redis), None, None, None)

    path = f"/selections/{claim.selection_id}"
    selection = selections.client.get(path).json()
    assert (selection["status"], selection["partial"], selection["stop_reason"]) == ("succeeded", True, "budget")
    result = selections.client.get(f"{path}/result").json()
    assert result["warnings"][-1].startswith("the run was killed at its time limit of 5 s")
    assert result["digest"] == selection["digest"] != best.digest


def test_outage_of_postgres_does_not_end_the_worker(
    settings: Settings, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    handler = CrashHandler(settings.model_copy(update={"database_url": UNREACHABLE}))

    handler(job_of(Claim("sel_1", 1), redis), 1, KILLED, None)

    assert "the lease will run out" in caplog.text


@pytest.mark.parametrize("job_id", ["stranger", "no-number"])
def test_foreign_job_is_ignored(
    selections: Selections, settings: Settings, database: Database, redis: Redis, job_id: str
) -> None:
    claim = selections.running()

    CrashHandler(settings)(Job.create("os.system", id=job_id, connection=redis), 1, KILLED, None)

    assert not is_expired(database, claim)
