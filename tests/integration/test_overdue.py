"""Runs that do not heed their cancel request."""

from collections.abc import Iterable

from redis import Redis
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.database import Database
from app.lifecycle import claims
from app.lifecycle.claims import Claim, PackedCheckpoint
from app.lifecycle.overdue import end_overdue
from app.lifecycle.sweep import sweep
from app.models import StoredCheckpoint
from app.queue import Doorbell, JobQueue
from app.settings import Settings
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import make_result

CHECKPOINT = Checkpoint("f", Phase.SEARCH, 1, "float32")
BEST = make_result(StopReason.CANCELLED)


def ask_long_ago(session: Session) -> None:
    session.execute(text("UPDATE selections SET cancel_requested_at = now() - interval '8 seconds'"))


def test_overdue_run_ends_with_its_best_before_its_lease(
    selections: Selections, database: Database, queue: JobQueue, settings: Settings
) -> None:
    claim = selections.cancelling(lease_seconds=60)
    with database.session_scope() as session:
        claims.save_checkpoint(session, claim, PackedCheckpoint.of(CHECKPOINT, BEST))
        ask_long_ago(session)

    assert end_overdue(database, queue, settings) == 1

    shown = selections.client.get(f"/selections/{claim.selection_id}").json()
    assert (shown["status"], shown["partial"], shown["digest"]) == ("cancelled", True, BEST.digest)
    with database.session_scope() as session:
        assert session.scalar(select(func.count()).select_from(StoredCheckpoint)) == 1  # for a resume
        assert not claims.finish(session, claim, make_result())
    assert end_overdue(database, queue, settings) == 0


def test_run_in_its_grace_is_left_alone(
    selections: Selections, database: Database, queue: JobQueue, settings: Settings
) -> None:
    claim = selections.cancelling()
    assert end_overdue(database, queue, settings) == 0
    assert selections.status_of(claim.selection_id) == "cancelling"


def test_run_that_writes_its_end_is_left_alone(
    selections: Selections, database: Database, queue: JobQueue, settings: Settings
) -> None:
    claim = selections.cancelling()
    with database.session_scope() as session:
        ask_long_ago(session)
    with database.session_scope() as session:
        assert claims.finish(session, claim, make_result())
        assert end_overdue(database, queue, settings) == 0
    assert selections.status_of(claim.selection_id) == "succeeded"


def test_overdue_run_ends_while_redis_is_away(selections: Selections, database: Database, settings: Settings) -> None:
    claim = selections.cancelling()
    with database.session_scope() as session:
        ask_long_ago(session)
    away = JobQueue(settings.model_copy(update={"redis_url": "unix:///nowhere.sock"}))
    assert end_overdue(database, away, settings) == 1
    assert selections.status_of(claim.selection_id) == "cancelled"


def test_sweep_stops_attempts_of_selections_that_ended_or_are_gone(
    selections: Selections, database: Database, settings: Settings
) -> None:
    ended, fresh, held = selections.cancelling(), selections.cancelling(), selections.running()
    with database.session_scope() as session:
        for claim in (ended, fresh):
            claims.finish_cancelled(session, claim)
        old = "UPDATE selections SET cancelled_at = now() - interval '6 seconds' WHERE id = :id"
        session.execute(text(old), {"id": ended.selection_id})
    gone = Claim("sel_gone", 1)
    with Redis.from_url(settings.redis_url) as redis:
        for claim in (ended, fresh, held, gone):
            redis.zadd("rq:wip:lens", {f"{claim.selection_id}-{claim.attempt}:execution": 2e10})
    queue = RecordingQueue(settings)

    sweep(database, queue, settings)

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
