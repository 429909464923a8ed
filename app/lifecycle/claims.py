"""How a worker holds a selection: claim, lease, fence. All SQL with which a worker changes a selection.

A claim makes the worker the holder of one attempt. Every later write names that attempt and the claim's random
holder. If another claim was made, the write changes nothing (the fence), and the holder must exit. The number of the
attempt alone is no fence: after a restore of the database, a later claim gets the same number again. All times come
from the database's clock. Each function fits in one short transaction, and the caller commits.
"""

from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import Enum, auto
from functools import partial
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Update, and_, func, insert, literal, select, true, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.lifecycle.rescue import Describe, describe_fault, describe_stall, rescue
from app.lifecycle.results import delete_checkpoint, end_cancelled, read_best, store_result
from app.lifecycle.spec import SPEC_VERSION
from app.lifecycle.states import LEASED, Status
from app.models import Event, Selection, StoredCheckpoint
from app.settings import Settings
from lens_engine.metering.progress import Progress
from lens_engine.result import SelectionResult
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import StopReason

WORKER_UNFIT = "worker-unfit"
"""The event of an attempt that ended by a fault of its worker."""

STALLED = "stalled"
"""The event of an attempt that made no progress."""

_FIRST_WAIT = timedelta(seconds=15)
_LONGEST_WAIT = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write to a selection until another attempt begins."""

    selection_id: str
    attempt: int
    holder: str | None = field(default=None, compare=False)  #: None for a parent process, which knows the attempt alone
    request_id: str | None = field(default=None, compare=False)  #: of the submission

    @property
    def log_fields(self) -> dict[str, object]:
        """What every line of the attempt's log has."""
        return {"selection_id": self.selection_id, "attempt": self.attempt, "request_id": self.request_id}


class Lease(Enum):
    """State of a lease after its renewal."""

    HELD = auto()
    CANCEL_REQUESTED = auto()  #: held, but the owner wants the run to stop
    LOST = auto()  #: another attempt began or the sweep ended this one; write nothing more


def claim_selection(session: Session, selection_id: str, lease_seconds: float) -> Claim | None:
    """Claim a queued selection. Returns None if it is running, finished, waiting, or has a newer spec."""
    holder = uuid4().hex
    row = session.execute(
        update(Selection)
        .where(
            Selection.id == selection_id,
            Selection.status == Status.QUEUED,
            Selection.not_before <= func.now(),
            Selection.spec_version <= SPEC_VERSION,
        )
        .values(
            status=Status.RUNNING,
            attempt=Selection.attempt + 1,
            holder=holder,
            lease_until=_from_now(lease_seconds),
            started_at=func.coalesce(Selection.started_at, func.now()),
        )
        .returning(Selection.attempt, Selection.request_id)
    ).one_or_none()
    return None if row is None else Claim(selection_id, row.attempt, holder, row.request_id)


def postpone_newer(session: Session, selection_id: str) -> int | None:
    """Let a queued selection with a newer spec wait, so that this release is not offered it at every sweep.

    It waits as long as it has waited before, so the waits double, up to ten minutes. Returns the version of its spec;
    None if it is not queued or not newer.
    """
    waited = func.now() - Selection.queued_at
    wait = func.least(func.greatest(waited, _FIRST_WAIT), _LONGEST_WAIT)
    return session.scalar(
        update(Selection)
        .where(Selection.id == selection_id, Selection.status == Status.QUEUED, Selection.spec_version > SPEC_VERSION)
        .values(not_before=func.now() + wait)
        .returning(Selection.spec_version)
    )


def renew_lease(session: Session, claim: Claim, lease_seconds: float, progress: Progress | None = None) -> Lease:
    """Extend the lease to `lease_seconds` from now, store the progress, and report a cancel request: one update."""
    renewal = _fenced(claim).values(lease_until=_from_now(lease_seconds))
    if progress is not None:
        renewal = renewal.values(phase=progress.phase.value, progress=asdict(progress))
    return _state_of_lease(session.scalar(renewal.returning(Selection.status)))


def read_lease(session: Session, claim: Claim) -> Lease:
    """Report a cancel request, or the loss of the lease, without writing."""
    return _state_of_lease(session.scalar(select(Selection.status).where(_is_held(claim))))


@dataclass(frozen=True, slots=True)
class PackedCheckpoint:
    """A checkpoint as it is stored. Packing may take seconds, so it comes before the transaction."""

    phase: str
    step: int
    data: bytes  #: for `Checkpoint.from_bytes`
    best: dict[str, Any] | None  #: the result of a selection that is cancelled here

    @classmethod
    def of(cls, checkpoint: Checkpoint, best: SelectionResult | None = None) -> "PackedCheckpoint":
        found = None if best is None else best.model_dump(mode="json")
        return cls(checkpoint.phase.value, checkpoint.step, checkpoint.to_bytes(), found)


def save_checkpoint(session: Session, claim: Claim, checkpoint: PackedCheckpoint) -> bool:
    """Replace the selection's checkpoint. Writes nothing and returns False if the claim is lost."""
    if not _lock(session, claim):
        return False
    values = {**asdict(checkpoint), "attempt": claim.attempt, "created_at": func.now()}
    statement = upsert(StoredCheckpoint).values(selection_id=claim.selection_id, **values)
    session.execute(statement.on_conflict_do_update(index_elements=["selection_id"], set_=values))
    return True


def load_checkpoint(session: Session, claim: Claim) -> bytes | None:
    """Return the newest checkpoint of any attempt, as bytes for `Checkpoint.from_bytes`."""
    return session.scalar(select(StoredCheckpoint.data).where(StoredCheckpoint.selection_id == claim.selection_id))


def drop_checkpoint(session: Session, claim: Claim) -> bool:
    """Delete a checkpoint that is damaged or foreign. Returns False if the claim is lost."""
    if not _lock(session, claim):
        return False
    delete_checkpoint(session, claim.selection_id)
    return True


def record_event(session: Session, claim: Claim, type_: str, data: dict[str, Any]) -> bool:
    """Add an event to the selection's history. Returns False if the claim is lost."""
    if not _lock(session, claim):
        return False
    session.execute(insert(Event).values(selection_id=claim.selection_id, type=type_, data=data))
    return True


def finish(session: Session, claim: Claim, result: SelectionResult) -> bool:
    """Store a result with its classifier, and end the selection.

    Writes nothing and returns False if the claim is lost. The event of the classifier comes before that of the end.
    """
    if not _lock(session, claim):
        return False
    described = store_result(session, claim.selection_id, result)
    status = Status.CANCELLED if result.stop_reason is StopReason.CANCELLED else Status.SUCCEEDED
    session.execute(_ending(claim, status).values(described))
    if status is Status.SUCCEEDED:  # a cancelled selection may be resumed
        delete_checkpoint(session, claim.selection_id)
    return True


def finish_cancelled(session: Session, claim: Claim) -> bool:
    """End a cancelled selection with the best so far of its checkpoint. Returns False if the claim is lost."""
    if not _lock(session, claim):
        return False
    end_cancelled(session, claim.selection_id)
    return True


def finish_late(session: Session, claim: Claim, problem: dict[str, Any]) -> bool:
    """End a run at its time limit: with the best so far of its checkpoint, or with this problem if it has none.

    A selection with a cancel request is cancelled. Returns False if the claim is lost.
    """
    if not _lock(session, claim):
        return False
    if read_lease(session, claim) is Lease.CANCEL_REQUESTED:
        return finish_cancelled(session, claim)
    best = read_best(session, claim.selection_id)
    if best is None:
        return fail(session, claim, problem)
    warnings = (*best.warnings, f"{problem['detail']}; this is the best found until then")
    ended = best.model_copy(update={"stop_reason": StopReason.BUDGET, "warnings": warnings}).with_digest()
    return finish(session, claim, ended)


def fail(session: Session, claim: Claim, problem: dict[str, Any]) -> bool:
    """End a selection with an error that another attempt would repeat. `problem` follows RFC 9457."""
    if not _touched(session, _ending(claim, Status.FAILED).values(error=problem)):
        return False
    delete_checkpoint(session, claim.selection_id)
    return True


def give_up(session: Session, claim: Claim, code: str, settings: Settings) -> bool:
    """Return the selection to the queue because this worker is unfit, with its checkpoint, and count a crash.

    After the last crash that the settings allow, the selection fails (`worker-unfit`). A selection with a cancel
    request is cancelled instead, with the best so far of its checkpoint. Returns False if the claim is lost.

    Args:
        code: what is wrong with the worker; clients see it.
    """
    event = {"code": code, "attempt": claim.attempt}
    return _charge(session, claim, WORKER_UNFIT, event, partial(describe_fault, code=code), settings)


def give_up_stalled(session: Session, claim: Claim, seconds: float, settings: Settings) -> bool:
    """As `give_up`, because the run made no progress for `seconds`; the code of the failure is `stalled`."""
    event = {"seconds": seconds, "attempt": claim.attempt}
    return _charge(session, claim, STALLED, event, partial(describe_stall, seconds=seconds), settings)


def _charge(
    session: Session, claim: Claim, type_: str, data: dict[str, Any], describe: Describe, settings: Settings
) -> bool:
    """Record an event and count a crash. Returns False if the claim is lost."""
    selection = session.scalar(select(Selection).where(_is_held(claim)).with_for_update())
    if selection is None:
        return False
    record_event(session, claim, type_, data)
    rescue(session, selection, settings, describe)
    return True


def pass_on(session: Session, claim: Claim, code: str, detail: str, wait_seconds: float) -> bool:
    """Return the selection to the queue because another worker can run it, without counting a crash.

    The selection waits `wait_seconds`. Otherwise as `release`.

    Args:
        code: type of the event: the spec belongs to a newer release.
    """
    record_event(session, claim, code, {"detail": detail})
    return release(session, claim, wait_seconds)


def release(session: Session, claim: Claim, wait_seconds: float = 0.0) -> bool:
    """Return the selection to the queue, for example at a shutdown, without counting a crash.

    The next attempt begins after `wait_seconds` at the earliest. A selection with a cancel request is cancelled
    instead, with the best so far of its checkpoint. Returns False if the claim is lost.
    """
    status = session.scalar(select(Selection.status).where(_is_held(claim)).with_for_update())
    if status == Status.CANCELLING:
        end_cancelled(session, claim.selection_id)
        return True
    back = _fenced(claim).where(Selection.status == Status.RUNNING)
    return _touched(
        session,
        back.values(status=Status.QUEUED, lease_until=None, queued_at=func.now(), not_before=_from_now(wait_seconds)),
    )


def expire_lease(session: Session, claim: Claim) -> bool:
    """End the lease of a dead holder now, so that the next sweep takes the selection over."""
    return _touched(session, _fenced(claim).values(lease_until=func.now()))


def _is_held(claim: Claim) -> ColumnElement[bool]:
    """The fence: this claim still holds the selection."""
    return and_(
        Selection.id == claim.selection_id,
        Selection.attempt == claim.attempt,
        true() if claim.holder is None else Selection.holder == claim.holder,
        Selection.status.in_([status.value for status in LEASED]),
    )


def _fenced(claim: Claim) -> Update:
    return update(Selection).where(_is_held(claim))


def _ending(claim: Claim, status: Status) -> Update:
    """Build an update to a terminal status, with the time in the column of that status."""
    return _fenced(claim).values({"status": status, "lease_until": None, f"{status.value}_at": func.now()})


def _lock(session: Session, claim: Claim) -> bool:
    """Lock the row until the transaction ends. Returns False if the claim is lost."""
    row = select(literal(1)).select_from(Selection).where(_is_held(claim)).with_for_update()
    return session.scalar(row) is not None


def _touched(session: Session, statement: Update) -> bool:
    return session.scalar(statement.returning(Selection.id)) is not None


def _state_of_lease(status: str | None) -> Lease:
    """The state of a held selection's lease. `status`: None if the claim is lost."""
    if status is None:
        return Lease.LOST
    return Lease.CANCEL_REQUESTED if status == Status.CANCELLING else Lease.HELD


def _from_now(seconds: float) -> ColumnElement[Any]:
    return func.now() + timedelta(seconds=seconds)
