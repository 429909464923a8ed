"""How an attempt ends. No other module takes a job from its holder, and only four callers do:

    the run        with its result, a fault of its input or its worker, or a shutdown    worker/jobs.py
    its heartbeat  with a run that makes no progress                                     worker/heartbeat.py
    its parent     with a work-horse that died, or that it killed                        worker/parent.py
    the sweep      with a lease that ran out: the worker or its machine is gone          app/lifecycle/sweep.py

Only the parent kills. The first three name their claim, and change nothing if it is lost. Each
function fits in one short transaction, and the caller commits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import Update, delete, exists, func, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.errors import problem
from app.ids import path_of
from app.lifecycle.claims import Claim, Lease, fenced, is_held, lock, read_lease, record_event
from app.lifecycle.results import delete_checkpoint, end_cancelled, read_best, store_result
from app.settings import Settings
from app.store.prompts import delete_pool_without_result
from app.store.tables import Event, Job, Report, Status, StoredCheckpoint, StoredClassifier, StoredCounter
from lens_engine.result import SelectionResult
from lens_engine.types import StopReason

WORKER_UNFIT = "worker-unfit"
"""The event of an attempt that ended by a fault of its worker."""

STALLED = "stalled"
"""The event of an attempt that made no progress."""

_LONGEST_BACKOFF_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Crash:
    """A crash that counts against a job. With crash number `max_attempts`, the job fails."""

    settings: Settings
    code: str  #: of the problem (RFC 9457) of a job that gets no further attempt
    reason: str  #: what the last attempt met
    event: Mapping[str, Any] | None = field(default=None)  #: data of an event of the type `code`; None for no event

    @classmethod
    def died(cls, settings: Settings, reason: str = "its worker or its machine is gone") -> "Crash":
        return cls(settings, "worker-crashed", reason)

    @classmethod
    def stalled(cls, settings: Settings, seconds: float) -> "Crash":
        reason = f"it was ended because it made no progress for {seconds:.0f} s"
        return cls(settings, STALLED, reason, {"seconds": seconds})

    @classmethod
    def unfit(cls, settings: Settings, code: str) -> "Crash":
        """`code`: what is wrong with the worker; clients see it."""
        reason = (
            f"it ended because its worker is unfit ({code}), not because of this job; resume it when the operator "
            "has mended the workers"
        )
        return cls(settings, WORKER_UNFIT, reason, {"code": code})


def finish(session: Session, claim: Claim, result: SelectionResult) -> bool:
    """Store what a run found, and end the job. Writes nothing and returns False if the claim is lost."""
    if not lock(session, claim):
        return False
    described = {"stop_reason": result.stop_reason.value, **store_result(session, claim.job_id, result)}
    status = Status.CANCELLED if result.stop_reason is StopReason.CANCELLED else Status.SUCCEEDED
    session.execute(_ending(claim, status).values(described))
    if status is Status.SUCCEEDED:  # a cancelled job may be resumed
        delete_checkpoint(session, claim.job_id)
    return True


def finish_cancelled(session: Session, claim: Claim) -> bool:
    """End a cancelled job with the best so far of its checkpoint, if it has one. Returns False if the claim is lost."""
    if not lock(session, claim):
        return False
    end_cancelled(session, claim.job_id)
    return True


def finish_late(session: Session, claim: Claim, problem: dict[str, Any]) -> bool:
    """End a run at its time limit: with the best so far of its checkpoint, or with this problem if it has none.

    A job with a cancel request is cancelled. Returns False if the claim is lost.
    """
    if not lock(session, claim):
        return False
    if read_lease(session, claim) is Lease.CANCEL_REQUESTED:
        return finish_cancelled(session, claim)
    best = read_best(session, claim.job_id)
    if best is None:
        return fail(session, claim, problem)
    warnings = (*best.warnings, f"{problem['detail']}; this is the best found until then")
    ended = best.model_copy(update={"stop_reason": StopReason.BUDGET, "warnings": warnings}).with_digest()
    return finish(session, claim, ended)


def fail(session: Session, claim: Claim, problem: dict[str, Any]) -> bool:
    """End a job with an error that another attempt would repeat. `problem` follows RFC 9457."""
    failing = _ending(claim, Status.FAILED).values(error=problem)
    if session.scalar(failing.returning(Job.id)) is None:
        return False
    delete_checkpoint(session, claim.job_id)
    return True


def requeue(
    session: Session,
    claim: Claim,
    *,
    event: tuple[str, Mapping[str, Any]] | None = None,
    crash: Crash | None = None,
    wait_seconds: float = 0.0,
) -> bool:
    """Give the job back to the queue, with its checkpoint. Returns False if the claim is lost.

    A job with a cancel request is cancelled instead, with the best so far of its checkpoint.

    Args:
        event: type and data of an event.
        crash: the crash to count; None if the attempt did nothing wrong, as at a shutdown.
        wait_seconds: until the next attempt, without a crash; a crash decides its own.
    """
    job = session.scalar(select(Job).where(is_held(claim)).with_for_update())
    if job is None:
        return False
    if event is not None:
        record_event(session, claim, *event)
    requeue_dead(session, job, crash, wait_seconds)
    return True


def requeue_dead(session: Session, job: Job, crash: Crash | None, wait_seconds: float = 0.0) -> Status:
    """As `requeue`, of a locked row whose holder is gone. Returns the new status.

    The next claim, not this function, increments `attempt`.
    """
    if crash is not None:
        job.crashes += 1
        wait_seconds = backoff_seconds(job.crashes, crash.settings)
        if crash.event is not None:
            claim = Claim(job.id, job.attempt)
            record_event(session, claim, crash.code, {**crash.event, "attempt": job.attempt})
    if job.status == Status.CANCELLING:
        session.flush()
        end_cancelled(session, job.id)
        return Status.CANCELLED
    now: Any = func.now()
    job.lease_until = None
    if crash is None or job.crashes < crash.settings.max_attempts:
        job.status, job.queued_at = Status.QUEUED, now
        job.not_before = now + timedelta(seconds=wait_seconds)
        session.flush()
        return Status.QUEUED
    detail = f"{job.crashes} attempts ended without a result; the last one: {crash.reason}"
    job.status, job.failed_at = Status.FAILED, now
    job.error = problem(crash.code, detail, instance=path_of(job.id))
    session.flush()
    delete_checkpoint(session, job.id)
    return Status.FAILED


def backoff_seconds(crashes: int, settings: Settings) -> float:
    """Wait before the next attempt (seconds): doubles with each crash, up to one hour."""
    return min(settings.retry_backoff_seconds * 2.0 ** min(crashes - 1, 20), _LONGEST_BACKOFF_SECONDS)


def _ending(claim: Claim, status: Status) -> Update:
    """Build an update to a terminal status, with the time in the column of that status."""
    return fenced(claim).values({"status": status, "lease_until": None, f"{status.value}_at": func.now()})


RESUMED = "resumed"


def queue_again(session: Session, job: Job) -> None:
    """Queue a cancelled or failed job again, to go on from its checkpoint, or from the start if it has none.

    Its partial result is deleted, and no crash is counted. `attempt` stays: the next claim raises it.
    """
    has_checkpoint, had_result = (
        bool(session.scalar(select(exists().where(table.job_id == job.id)))) for table in (StoredCheckpoint, Report)
    )
    for table in (Report, StoredClassifier):
        session.execute(delete(table).where(table.job_id == job.id))
    if not has_checkpoint:
        delete_pool_without_result(session, job.id)
        job.phase = job.progress = None
    about = {"from_checkpoint": has_checkpoint, "result_deleted": had_result, "error": job.error}
    session.execute(insert(Event).values(job_id=job.id, type=RESUMED, data={**about, "attempt": job.attempt}))
    now: Any = func.now()
    job.status, job.crashes = Status.QUEUED, 0
    job.queued_at = job.not_before = now
    times = ("cancel_requested_at", "cancelled_at", "failed_at")
    for name in (*times, "error", "partial", "stop_reason", "figures", "dtype", "digest", "provenance"):
        setattr(job, name, None)
    session.flush()
    session.refresh(job)


ATTEMPTS = "attempts"
DEVICE_SECONDS = "device_seconds"

OUTCOMES = ("ended", "released", "unfit", "lost", "error", "stalled", "died", "timeout")
ABOUT_ATTEMPTS = (
    "Attempts by `outcome`: ended (with a last write), released (by a shutdown), unfit (fault of its worker), lost "
    "(another attempt took over), error (another one), stalled (no progress), died (its process), timeout (killed)."
)


@dataclass(frozen=True, slots=True, order=True)
class CounterKey:
    """Name and label of a counter."""

    name: str
    label: str


def count_attempt(session: Session, outcome: str, owner_id: str, seconds: float) -> None:
    """Count an attempt that took so long."""
    add_to_counters(session, {CounterKey(ATTEMPTS, outcome): 1.0, CounterKey(DEVICE_SECONDS, owner_id): seconds})


def add_to_counters(session: Session, amounts: Mapping[CounterKey, float]) -> None:
    """Add amounts. Rows are locked in order, so that two workers cannot wait for each other."""
    rows = [{"name": key.name, "label": key.label, "value": amounts[key]} for key in sorted(amounts)]
    statement = upsert(StoredCounter).values(rows)
    total = StoredCounter.value + statement.excluded.value
    session.execute(statement.on_conflict_do_update(index_elements=["name", "label"], set_={"value": total}))


def read_counters(session: Session) -> dict[CounterKey, float]:
    rows = session.execute(select(StoredCounter.name, StoredCounter.label, StoredCounter.value))
    return {CounterKey(name, label): value for name, label, value in rows}
