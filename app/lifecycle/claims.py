"""How a worker chooses and holds a job: order, claim, lease, fence. `endings` has how it lets go.

A claim makes the worker the holder of one attempt. Every later write names that attempt and the claim's random
holder. If another claim was made, the write changes nothing (the fence), and the holder must exit. The number of the
attempt alone is no fence: after a restore of the database, a later claim gets the same number again. All times come
from the database's clock. Each function fits in one short transaction, and the caller commits.

A free worker claims the next job, whichever job of RQ woke it. Jobs of RQ only wake workers, so no order is lost with
Redis. First go the jobs of the owner whose jobs run on the fewest workers, and of these the one that was submitted
first.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import Enum, auto
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Select, Update, and_, case, func, insert, literal, select, true, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.ids import path_of
from app.lifecycle.results import delete_checkpoint
from app.settings import Settings
from app.store.prompts import PackedPool, pack_pool, store_pool
from app.store.tables import LEASED, Event, Job, Status, StoredCheckpoint
from lens_engine.metering.progress import Progress
from lens_engine.result import SelectionResult
from lens_engine.run.state import Checkpoint


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write to a job until another attempt begins."""

    job_id: str
    attempt: int
    holder: str | None = field(default=None, compare=False)  #: None: whoever holds it
    request_id: str | None = field(default=None, compare=False)  #: of the submission
    owner_id: str = field(default="", compare=False)

    @property
    def log_fields(self) -> dict[str, object]:
        """What every line of the attempt's log has."""
        return {"job_id": self.job_id, "attempt": self.attempt, "request_id": self.request_id}

    @property
    def path(self) -> str:
        """Path of the job in the API."""
        return path_of(self.job_id)


class Lease(Enum):
    """What a look at the lease `lease_until` tells its holder. One that ran out is held until the sweep ends it."""

    HELD = auto()
    CANCEL_REQUESTED = auto()  #: held, but the owner wants the run to stop
    LOST = auto()  #: another attempt began or the sweep ended this one; write nothing more


def claim_job(session: Session, job_id: str, lease_seconds: float) -> Claim | None:
    """Claim a queued job. Returns None if it is running, finished, or waiting."""
    holder = uuid4().hex
    row = session.execute(
        update(Job)
        .where(Job.id == job_id, Job.status == Status.QUEUED, Job.not_before <= func.now())
        .values(
            status=Status.RUNNING,
            attempt=Job.attempt + 1,
            holder=holder,
            lease_until=_from_now(lease_seconds),
            started_at=func.coalesce(Job.started_at, func.now()),
        )
        .returning(Job.attempt, Job.request_id, Job.owner_id)
    ).one_or_none()
    return None if row is None else Claim(job_id, row.attempt, holder, row.request_id, row.owner_id)


def renew_lease(session: Session, claim: Claim, lease_seconds: float, progress: Progress | None = None) -> Lease:
    """Extend the lease to `lease_seconds` from now, store the progress, and report a cancel request: one update."""
    renewal = fenced(claim).values(lease_until=_from_now(lease_seconds))
    if progress is not None:
        renewal = renewal.values(phase=progress.phase.value, progress=asdict(progress))
    return _state_of_lease(session.scalar(renewal.returning(Job.status)))


def read_lease(session: Session, claim: Claim) -> Lease:
    """Report a cancel request, or the loss of the lease, without writing."""
    return _state_of_lease(session.scalar(select(Job.status).where(is_held(claim))))


def read_lease_for_parent(session: Session, claim: Claim, stop_grace_seconds: float) -> Lease:
    """As `read_lease`, but a cancel request counts once it is older than the grace.

    A lease that ran out is still held: the run may be unable to renew it, and only the sweep decides.
    """
    is_old = Job.cancel_requested_at < func.clock_timestamp() - timedelta(seconds=stop_grace_seconds)
    row = session.execute(select(Job.status, is_old).where(is_held(claim))).one_or_none()
    lease = _state_of_lease(None if row is None else row[0])
    return Lease.HELD if lease is Lease.CANCEL_REQUESTED and row is not None and not row[1] else lease


@dataclass(frozen=True, slots=True)
class PackedCheckpoint:
    """A checkpoint as it is stored. Packing may take seconds, so it comes before the transaction."""

    phase: str
    step: int
    data: bytes  #: for `Checkpoint.from_bytes`
    best: dict[str, Any] | None  #: the result of a selection that is cancelled here, without its pool
    pool: PackedPool | None = None  #: of `best`

    @classmethod
    def of(cls, checkpoint: Checkpoint, best: SelectionResult | None = None) -> "PackedCheckpoint":
        data = checkpoint.to_bytes()
        if best is None:
            return cls(checkpoint.phase.value, checkpoint.step, data, None)
        pool = None if best.pool is None else pack_pool(best.pool)
        found = best.model_dump(mode="json", exclude={"pool"})
        return cls(checkpoint.phase.value, checkpoint.step, data, found, pool)


def save_checkpoint(session: Session, claim: Claim, checkpoint: PackedCheckpoint) -> bool:
    """Replace the selection's checkpoint. Writes nothing and returns False if the claim is lost."""
    if not lock(session, claim):
        return False
    if checkpoint.pool is not None:
        store_pool(session, claim.job_id, checkpoint.pool)
    own = {name: getattr(checkpoint, name) for name in ("phase", "step", "data", "best")}
    values = {**own, "attempt": claim.attempt, "created_at": func.now()}
    statement = upsert(StoredCheckpoint).values(job_id=claim.job_id, **values)
    session.execute(statement.on_conflict_do_update(index_elements=["job_id"], set_=values))
    return True


def load_checkpoint(session: Session, claim: Claim) -> bytes | None:
    """Return the newest checkpoint of any attempt, as bytes for `Checkpoint.from_bytes`."""
    return session.scalar(select(StoredCheckpoint.data).where(StoredCheckpoint.job_id == claim.job_id))


def drop_checkpoint(session: Session, claim: Claim) -> bool:
    """Delete a checkpoint that is damaged or foreign. Returns False if the claim is lost."""
    if not lock(session, claim):
        return False
    delete_checkpoint(session, claim.job_id)
    return True


def record_event(session: Session, claim: Claim, type_: str, data: Mapping[str, Any]) -> bool:
    """Add an event to the job's history. Returns False if the claim is lost."""
    if not lock(session, claim):
        return False
    session.execute(insert(Event).values(job_id=claim.job_id, type=type_, data=dict(data)))
    return True


def is_held(claim: Claim) -> ColumnElement[bool]:
    """The fence: this claim still holds the job."""
    return and_(
        Job.id == claim.job_id,
        Job.attempt == claim.attempt,
        true() if claim.holder is None else Job.holder == claim.holder,
        Job.status.in_([status.value for status in LEASED]),
    )


def fenced(claim: Claim) -> Update:
    return update(Job).where(is_held(claim))


def lock(session: Session, claim: Claim) -> bool:
    """Lock the row until the transaction ends. Returns False if the claim is lost."""
    row = select(literal(1)).select_from(Job).where(is_held(claim)).with_for_update()
    return session.scalar(row) is not None


def _state_of_lease(status: str | None) -> Lease:
    """The state of a held job's lease. `status`: None if the claim is lost."""
    if status is None:
        return Lease.LOST
    return Lease.CANCEL_REQUESTED if status == Status.CANCELLING else Lease.HELD


def _from_now(seconds: float) -> ColumnElement[Any]:
    return func.now() + timedelta(seconds=seconds)


_HELD = (
    select(Job.owner_id, func.count().label("num_running"))
    .where(Job.status.in_([status.value for status in LEASED]))
    .group_by(Job.owner_id)
    .subquery()
)
_ORDER = (func.coalesce(_HELD.c.num_running, 0), Job.created_at, Job.id)


def claim_next(session: Session, settings: Settings) -> Claim | None:
    """Claim the next job of those that a worker with these settings takes. None if none may start.

    A job that another transaction holds is left to it.
    """
    own = queue_of_job(settings) == settings.worker_queue
    waiting = _with_owners(select(Job.id)).where(may_start(), own).order_by(*_ORDER).limit(1)
    job_id = session.scalar(waiting.with_for_update(skip_locked=True, of=Job))
    return None if job_id is None else claim_job(session, job_id, settings.lease_seconds)


def find_place(session: Session, job_id: str, settings: Settings) -> tuple[int | None, str]:
    """The place of a queued job among those that the same workers take, 1 for the next, and the name of their queue.

    The place is None for a job that may not start yet, or that waits no longer.
    """
    queue = queue_of_job(settings)
    place = func.row_number().over(partition_by=(queue, may_start()), order_by=_ORDER)
    columns = select(Job.id, case((may_start(), place)).label("place"), queue.label("queue"))
    waiting = _with_owners(columns).where(Job.status == Status.QUEUED).subquery()
    found = session.execute(select(waiting.c.place, waiting.c.queue).where(waiting.c.id == job_id)).one_or_none()
    return (None, settings.queue_of(None)) if found is None else (found.place, found.queue)


def may_start() -> ColumnElement[bool]:
    """Whether a worker may take the job now."""
    return (Job.status == Status.QUEUED) & (Job.not_before <= func.now())


def queue_of_job(settings: Settings) -> ColumnElement[str]:
    """Name of the queue of a job, as `Settings.queue_of`."""
    others = literal(settings.queue_of(None))
    if not settings.endpoints:
        return others
    served = Job.model.in_(settings.endpoints)
    return case((served, settings.queue_of(next(iter(settings.endpoints)))), else_=others)


def count_waiting(session: Session, settings: Settings) -> dict[str, int]:
    """How many jobs may start, by queue; a queue without any is left out."""
    queue = queue_of_job(settings).label("queue")
    rows = session.execute(select(queue, func.count()).where(may_start()).group_by(queue))
    return {name: number for name, number in rows}  # noqa: C416 - rows are no pairs for mypy


def _with_owners(jobs: Select[Any]) -> Select[Any]:
    """The jobs, each with what its owner has running."""
    return jobs.select_from(Job).outerjoin(_HELD, _HELD.c.owner_id == Job.owner_id)
