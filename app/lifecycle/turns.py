"""Whose turn it is. A free worker claims the job that this module chooses, whichever job of RQ woke it.

Jobs of RQ only wake workers, so no order is lost with Redis. Each owner has one job in the choice: evaluations and
predictions before selections, then those that a worker had before, then the oldest. Among the owners goes first whose
jobs of this length run on the fewest workers, then whose jobs had a worker the longest time ago, then the oldest job.
A short job goes before the selections of other owners, but not if its owner was served since the selection began to
wait. So one owner's flood costs another owner at most the job under way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, case, func, literal, select, true
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.lifecycle.claims import Claim, claim_job
from app.settings import Settings
from app.store.states import LEASED, Status
from app.store.tables import Job, Turn

_NEVER = datetime.min.replace(tzinfo=UTC)
_IS_SHORT: Any = literal(False)


@dataclass(frozen=True, slots=True)
class Head:
    """The job of an owner that is in the choice, and what its owner has."""

    job_id: str
    is_short: bool  #: an evaluation or a prediction
    queued_at: datetime
    served_at: datetime | None  #: the last time at which an attempt of the owner began or ended; None for never
    num_running: int = 0  #: jobs of the owner that workers hold
    num_alike: int = 0  #: those of them that are as long: short, or selections

    @property
    def rank(self) -> tuple[int, datetime, datetime, str]:
        """The smallest goes first, among heads of one length."""
        return self.num_alike, self.served_at or _NEVER, self.queued_at, self.job_id

    @property
    def waits_since(self) -> datetime:
        """Since when the owner has waited for this turn."""
        return max(self.queued_at, self.served_at or _NEVER)


def choose(heads: Sequence[Head]) -> Head | None:
    """The head whose turn it is; None without any."""
    short = min((head for head in heads if head.is_short), key=lambda head: head.rank, default=None)
    long = min((head for head in heads if not head.is_short), key=lambda head: head.rank, default=None)
    if short is None or long is None:
        return short or long
    has_overtaken = short.served_at is not None and short.served_at >= long.waits_since
    return long if has_overtaken and long.num_running <= short.num_running else short


def claim_next(session: Session, settings: Settings) -> Claim | None:
    """Claim the job whose turn it is, of those that a worker with these settings takes. None if none may start.

    A job that another transaction holds is left to it.
    """
    passed = list[str]()
    while (head := choose(_list_heads(session, settings, passed))) is not None:
        free = select(literal(1)).where(Job.id == head.job_id, Job.status == Status.QUEUED)
        if session.scalar(free.with_for_update(skip_locked=True)) is not None:
            claim = claim_job(session, head.job_id, settings.lease_seconds)
            if claim is not None:
                note_service(session, claim.owner_id)
                return claim
        passed.append(head.job_id)
    return None


def note_service(session: Session, owner_id: str) -> None:
    """Note that an attempt of this owner begins or ends now."""
    now = func.clock_timestamp()
    noting = upsert(Turn).values(owner_id=owner_id, served_at=now)
    session.execute(noting.on_conflict_do_update(index_elements=["owner_id"], set_={"served_at": now}))


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


def _list_heads(session: Session, settings: Settings, passed: Sequence[str]) -> list[Head]:
    """One job of each owner that has one for this worker.

    Args:
        passed: ids of jobs that are left out.
    """
    waiting = (
        select(Job.id, Job.owner_id, _IS_SHORT.label("is_short"), Job.queued_at)
        .where(may_start(), queue_of_job(settings) == settings.worker_queue, Job.id.not_in(passed))
        .ext(distinct_on(Job.owner_id))
        .order_by(Job.owner_id, _IS_SHORT.desc(), (Job.attempt > 0).desc(), Job.queued_at, Job.id)
        .subquery()
    )
    held = _count_held().where(Job.owner_id == waiting.c.owner_id).correlate(waiting).lateral()
    rows = session.execute(
        select(waiting.c.id, waiting.c.is_short, waiting.c.queued_at, Turn.served_at, held.c.short, held.c.long)
        .join_from(waiting, held, true())
        .outerjoin(Turn, Turn.owner_id == waiting.c.owner_id)
    )
    return [
        Head(id_, is_short, queued_at, served_at, short + long, short if is_short else long)
        for id_, is_short, queued_at, served_at, short, long in rows
    ]


def _count_held() -> Any:
    """How many short jobs and how many selections workers hold."""
    counts = (func.count().filter(_IS_SHORT).label("short"), func.count().filter(~_IS_SHORT).label("long"))
    return select(*counts).where(Job.status.in_([status.value for status in LEASED]))
