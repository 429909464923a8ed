"""SQL of selections: what owners read and change."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.lifecycle.results import end_cancelled
from app.selections.polls import JobState
from app.store.states import TERMINAL, Status
from app.store.tables import Event, Job, Report, StoredClassifier


def find_job(session: Session, owner_id: str, job_id: str) -> Job | None:
    return session.scalar(select(Job).where(*_own(owner_id, job_id)))


def lock_job(session: Session, owner_id: str, job_id: str) -> Job | None:
    """As `find_job`, and keep it from being resumed or deleted until the transaction ends."""
    return session.scalar(select(Job).where(*_own(owner_id, job_id)).with_for_update(read=True))


def find_state(session: Session, owner_id: str, job_id: str) -> JobState | None:
    """Read what a poll needs, without the spec, the warnings and the error, which may be large."""
    columns = [getattr(Job, name) for name in JobState.__slots__]
    row = session.execute(select(*columns).where(*_own(owner_id, job_id))).one_or_none()
    return None if row is None else JobState(*row)


def find_attempt_with(
    session: Session, owner_id: str, selection_id: str, part: type[Report] | type[StoredClassifier]
) -> int | None:
    """Return the attempt that stored the part of a selection of this owner, without reading the part.

    A selection that was resumed has no part until another attempt stores one. None without a part.
    """
    statement = select(Job.attempt).join(part, part.job_id == Job.id)
    return session.scalar(statement.where(*_own(owner_id, selection_id)))


def list_summaries(
    session: Session,
    owner_id: str,
    names: Iterable[str],
    limit: int,
    *filters: ColumnElement[bool],
    first: ColumnElement[Any] | None = None,
) -> Sequence[Row[Any]]:
    """Return up to `limit` + 1 jobs, newest first. The extra one shows that there is a next page.

    Specs, warnings and single errors are not read: of two hundred selections they may have 70 MB.

    Args:
        names: names of the columns that are read.
        first: an order above that of age.
    """
    brief = {"error": Job.error.op("-", return_type=JSONB)("errors").label("error")}
    columns = [brief.get(name, getattr(Job, name)) for name in names]
    statement = select(*columns).where(Job.owner_id == owner_id, *filters)
    order = (Job.id.desc(),) if first is None else (first, Job.id.desc())
    return session.execute(statement.order_by(*order).limit(limit + 1)).all()


def list_events(session: Session, job_id: str, after: int, limit: int) -> Sequence[Event]:
    """Return up to `limit` + 1 events, oldest first. The extra one shows that there is a next page."""
    statement = select(Event).where(Event.job_id == job_id, Event.id > after)
    return session.scalars(statement.order_by(Event.id).limit(limit + 1)).all()


def list_newest_events(session: Session, job_id: str, limit: int) -> Sequence[Event]:
    """Return the newest events, oldest first."""
    newest = select(Event).where(Event.job_id == job_id).order_by(Event.id.desc()).limit(limit)
    return session.scalars(newest).all()[::-1]


def find_report(session: Session, job_id: str) -> Report | None:
    return session.get(Report, job_id)


def find_classifier(session: Session, selection_id: str) -> StoredClassifier | None:
    return session.get(StoredClassifier, selection_id)


def request_cancel(session: Session, owner_id: str, job_id: str) -> bool:
    """Cancel a queued job, or request the stop of a running one. Returns False in any other status.

    A selection that was queued again keeps the best so far of its checkpoint.
    """
    own = _own(owner_id, job_id)
    status = session.scalar(select(Job.status).where(*own).with_for_update())
    if status not in {Status.QUEUED, Status.RUNNING}:
        return False
    requested = update(Job).where(*own).values(cancel_requested_at=func.now())
    if status == Status.RUNNING:
        session.execute(requested.values(status=Status.CANCELLING))
    else:
        session.execute(requested)
        end_cancelled(session, job_id)
    return True


def delete_job(session: Session, owner_id: str, job_id: str) -> bool:
    """Delete an ended job and its dependent rows. Returns False if it has not ended or does not exist."""
    has_ended = Job.status.in_([status.value for status in TERMINAL])
    statement = delete(Job).where(*_own(owner_id, job_id), has_ended)
    return session.scalar(statement.returning(Job.id)) is not None


def _own(owner_id: str, job_id: str) -> tuple[ColumnElement[bool], ...]:
    return Job.id == job_id, Job.owner_id == owner_id
