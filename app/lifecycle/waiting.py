"""Jobs that wait for a worker: which one is next, where one stands, and how many there are.

A free worker claims the next job, whichever job of RQ woke it. Jobs of RQ only wake workers, so no order is lost with
Redis. First go the jobs of the owner whose jobs run on the fewest workers, and of these the one that was submitted
first.
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, literal, select
from sqlalchemy.orm import Session

from app.lifecycle.claims import Claim, claim_job
from app.settings import Settings
from app.store.states import LEASED, Status
from app.store.tables import Job

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
