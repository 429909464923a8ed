"""Claim, fence and lease: at most one attempt writes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text, update
from sqlalchemy.orm import Session
from starlette.testclient import TestClient

from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim, Lease, PackedCheckpoint
from app.lifecycle.endings import Crash
from app.lifecycle.spec import load_submission
from app.settings import Settings
from app.store.database import Database
from app.store.tables import Job, Report, StoredClassifier
from lens_engine.result import SelectionResult
from lens_engine.run.state import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.integration.conftest import Selections, count_rows, run_sql, transact
from tests.integration.samples import PROGRESS, make_result, make_rows, make_submission

DIED = Crash.died(Settings())
CHECKPOINT = Checkpoint("fingerprint", Phase.FILTER, 1, "float32", {"rows": [1, 2]})

WRITES: dict[str, Callable[[Session, Claim], bool]] = {
    "renew": lambda session, claim: claims.renew_lease(session, claim, 60) is not Lease.LOST,
    "progress": lambda session, claim: claims.renew_lease(session, claim, 60, PROGRESS) is not Lease.LOST,
    "checkpoint": lambda session, claim: claims.save_checkpoint(session, claim, PackedCheckpoint.of(CHECKPOINT)),
    "drop": claims.drop_checkpoint,
    "event": lambda session, claim: claims.record_event(session, claim, "note", {}),
    "finish": lambda session, claim: endings.finish(session, claim, make_result()),
    "finish cancelled": endings.finish_cancelled,
    "fail": lambda session, claim: endings.fail(session, claim, {"title": "x"}),
    "finish late": lambda session, claim: endings.finish_late(session, claim, {"title": "x", "detail": "late"}),
    "release": endings.requeue,
    "requeue after a crash": lambda session, claim: endings.requeue(session, claim, crash=DIED),
}


def snapshot(database: Database) -> list[object]:
    """All rows that a worker may write, as text."""
    tables = ("jobs", "checkpoints", "reports", "classifiers", "events")
    return [run_sql(database, f"SELECT array_agg(t::text) FROM {table} t") for table in tables]


def load_result(database: Database, claim: Claim) -> SelectionResult:
    with database.session_scope() as session:
        report = session.get_one(Report, claim.job_id).result
        classifier = session.get_one(StoredClassifier, claim.job_id).classifier
    return SelectionResult.model_validate({**report, "classifier": classifier})


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_holder_may_write(selections: Selections, write: Callable[..., bool]) -> None:
    claim = selections.running()
    assert selections.transact(write, claim)


def check_writes_nothing(database: Database, claim: Claim) -> None:
    before = snapshot(database)
    for name, write in WRITES.items():
        assert not transact(database, write, claim), name
    assert snapshot(database) == before


def test_zombie_writes_nothing(selections: Selections, database: Database) -> None:
    zombie = selections.running()
    selections.transact(endings.requeue, zombie)
    current = selections.claim(zombie.job_id)
    assert current.attempt == zombie.attempt + 1
    check_writes_nothing(database, zombie)


def test_holder_writes_nothing_after_a_restore_gave_its_number_to_another(selections: Selections) -> None:
    zombie = selections.running()
    selections.sql("UPDATE jobs SET status = 'queued', lease_until = NULL, attempt = 0")
    assert selections.claim(zombie.job_id) == zombie
    check_writes_nothing(selections.database, zombie)


@pytest.mark.parametrize("status", ["queued", "succeeded", "failed", "cancelled"])
def test_nobody_writes_to_what_nobody_holds(selections: Selections, database: Database, status: str) -> None:
    selection_id = selections.in_state(status)
    for attempt in (0, 1, 2):
        check_writes_nothing(database, Claim(selection_id, attempt))


@pytest.mark.parametrize("status", ["running", "cancelling", "succeeded", "failed", "cancelled"])
def test_only_queued_selection_can_be_claimed(selections: Selections, status: str) -> None:
    selection_id = selections.in_state(status)
    assert selections.transact(claims.claim_job, selection_id, 60) is None


def test_many_claims_at_once_have_one_winner(selections: Selections) -> None:
    selection_id = selections.queued()

    def claim(_: int) -> Claim | None:
        return selections.transact(claims.claim_job, selection_id, 60)

    with ThreadPoolExecutor(4) as pool:
        won = [claim for claim in pool.map(claim, range(20)) if claim is not None]
    assert won == [Claim(selection_id, 1)]


def test_claim_carries_the_id_of_its_request_into_the_workers_log(client: TestClient, selections: Selections) -> None:
    answer = client.post("/selections", json=make_submission(), headers={"X-Request-ID": "trace-7"})
    claim = selections.claim(answer.json()["id"])
    assert claim.log_fields == {"job_id": claim.job_id, "attempt": 1, "request_id": "trace-7"}


def test_claim_waits_for_the_backoff(selections: Selections, database: Database) -> None:
    selection_id = selections.queued()
    with database.session_scope() as session:
        session.execute(update(Job).values(not_before=text("now() + interval '1 hour'")))
        assert claims.claim_job(session, selection_id, 60) is None
        session.execute(update(Job).values(not_before=text("now()")))
        assert claims.claim_job(session, selection_id, 60) is not None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("lease_until = now() + interval '1 minute'", Lease.HELD),
        ("lease_until = now() - interval '1 second'", Lease.HELD),
        ("attempt = 2", Lease.LOST),
        ("holder = 'another'", Lease.LOST),
        ("status = 'cancelling', cancel_requested_at = now() - interval '1 second'", Lease.HELD),
        ("status = 'cancelling', cancel_requested_at = now() - interval '9 seconds'", Lease.CANCEL_REQUESTED),
        ("status = 'queued', lease_until = NULL", Lease.LOST),
    ],
)
def test_parent_sees_when_an_attempt_is_over(selections: Selections, change: str, expected: Lease) -> None:
    claim = selections.running()
    selections.sql(f"UPDATE jobs SET {change}")
    assert selections.transact(claims.read_lease_for_parent, claim, stop_grace_seconds=5) is expected


def test_renewal_moves_the_lease_by_the_databases_clock(selections: Selections, database: Database) -> None:
    claim = selections.running(lease_seconds=1)
    assert selections.transact(claims.renew_lease, claim, 500) is Lease.HELD
    assert 490 < run_sql(database, "SELECT extract(epoch FROM lease_until - now()) FROM jobs") <= 500


def test_newest_checkpoint_replaces_the_one_before(selections: Selections, database: Database) -> None:
    claim = selections.running()
    later = Checkpoint("fingerprint", Phase.SEARCH, 3, "float32", {"beam": [[1]]})
    for checkpoint in (CHECKPOINT, later):
        assert selections.transact(claims.save_checkpoint, claim, PackedCheckpoint.of(checkpoint))
    with database.session_scope() as session:
        data = claims.load_checkpoint(session, claim)
        assert data is not None
        assert Checkpoint.from_bytes(data) == later
    assert count_rows(database, "checkpoints") == 1


@pytest.mark.parametrize("ending", ["finish", "fail", "drop"])
def test_ending_forgets_the_checkpoint(selections: Selections, database: Database, ending: str) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        claims.save_checkpoint(session, claim, PackedCheckpoint.of(CHECKPOINT))
        assert WRITES[ending](session, claim)
        assert claims.load_checkpoint(session, claim) is None


@pytest.mark.parametrize(
    ("stop_reason", "status", "partial"),
    [
        (StopReason.COMPLETED, "succeeded", False),
        (StopReason.BUDGET, "succeeded", True),
        (StopReason.CANCELLED, "cancelled", True),
    ],
)
def test_result_is_stored_whole(selections: Selections, stop_reason: StopReason, status: str, partial: bool) -> None:
    claim, result = selections.running(), make_result(stop_reason)
    assert selections.transact(endings.finish, claim, result)
    stored = selections.read(claim.job_id)
    assert (stored.status, stored.partial, stored.stop_reason) == (status, partial, stop_reason.value)
    assert (stored.digest, stored.dtype, stored.lease_until) == (result.digest, "float32", None)
    assert getattr(stored, f"{status}_at") is not None
    assert load_result(selections.database, claim) == result


@pytest.mark.parametrize("best", [None, make_result(StopReason.CANCELLED)])
@pytest.mark.parametrize("ending", ["release", "finish cancelled", "finish late"])
def test_cancel_keeps_checkpoint_and_best(selections: Selections, ending: str, best: SelectionResult | None) -> None:
    claim = selections.cancelling()
    with selections.database.session_scope() as session:
        claims.save_checkpoint(session, claim, PackedCheckpoint.of(CHECKPOINT, best))
        assert WRITES[ending](session, claim)
        assert claims.load_checkpoint(session, claim) is not None  # for a resume
    stored = selections.read(claim.job_id)
    assert (stored.status, stored.stop_reason, stored.lease_until) == ("cancelled", "cancelled", None)
    assert stored.cancelled_at is not None
    if best is not None:
        assert (stored.partial, stored.digest) == (True, best.digest)
        assert load_result(selections.database, claim) == best


def test_submission_is_loaded_as_it_was_sent(selections: Selections) -> None:
    selection_id = selections.queued()
    submission = selections.transact(load_submission, selection_id)
    assert [(e.row, e.text, e.label) for e in submission.examples] == [
        (index, row["text"], row["label"]) for index, row in enumerate(make_rows())
    ]
    assert submission.test is None
    assert submission.spec.wordings.task.labels == ("positive", "negative")
    assert submission.spec.config.search.beam_width == 4
