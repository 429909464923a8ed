"""SQL of selections: what owners read and change."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.lifecycle.results import end_cancelled
from app.lifecycle.states import TERMINAL, Status
from app.models import Event, Report, Selection, StoredClassifier
from app.selections.polls import SelectionState
from app.selections.schemas import SelectionSummary


def find_selection(session: Session, owner_id: str, selection_id: str) -> Selection | None:
    return session.scalar(select(Selection).where(Selection.id == selection_id, Selection.owner_id == owner_id))


def lock_selection(session: Session, owner_id: str, selection_id: str) -> Selection | None:
    """As `find_selection`, and keep it from being resumed or deleted until the transaction ends."""
    own = select(Selection).where(Selection.id == selection_id, Selection.owner_id == owner_id)
    return session.scalar(own.with_for_update(read=True))


def find_state(session: Session, owner_id: str, selection_id: str) -> SelectionState | None:
    """Read what a poll needs, without the spec, the warnings and the error, which may be large."""
    columns = [getattr(Selection, name) for name in SelectionState.__slots__]
    statement = select(*columns).where(Selection.id == selection_id, Selection.owner_id == owner_id)
    row = session.execute(statement).one_or_none()
    return None if row is None else SelectionState(*row)


def find_attempt_with(
    session: Session, owner_id: str, selection_id: str, part: type[Report] | type[StoredClassifier]
) -> int | None:
    """Return the attempt that stored the part of a selection of this owner, without reading the part.

    A selection that was resumed has no part until another attempt stores one. None without a part.
    """
    statement = select(Selection.attempt).join(part, part.selection_id == Selection.id)
    return session.scalar(statement.where(Selection.id == selection_id, Selection.owner_id == owner_id))


def list_summaries(
    session: Session, owner_id: str, status: Status | None, before: str | None, limit: int
) -> Sequence[Row[Any]]:
    """Return up to `limit` + 1 selections, newest first. The extra one shows that there is a next page.

    Specs, warnings and single errors are not read: of two hundred selections they may have 70 MB.

    Args:
        before: the last id of the previous page.
    """
    brief = {"error": Selection.error.op("-", return_type=JSONB)("errors").label("error")}
    columns = [brief.get(name, getattr(Selection, name)) for name in SelectionSummary.model_fields]
    statement = select(*columns).where(Selection.owner_id == owner_id)
    if status is not None:
        statement = statement.where(Selection.status == status)
    if before is not None:
        statement = statement.where(Selection.id < before)
    return session.execute(statement.order_by(Selection.id.desc()).limit(limit + 1)).all()


def list_events(session: Session, selection_id: str, after: int, limit: int) -> Sequence[Event]:
    """Return up to `limit` + 1 events, oldest first. The extra one shows that there is a next page."""
    statement = select(Event).where(Event.selection_id == selection_id, Event.id > after)
    return session.scalars(statement.order_by(Event.id).limit(limit + 1)).all()


def find_report(session: Session, selection_id: str) -> Report | None:
    return session.get(Report, selection_id)


def find_classifier(session: Session, selection_id: str) -> StoredClassifier | None:
    return session.get(StoredClassifier, selection_id)


def request_cancel(session: Session, owner_id: str, selection_id: str) -> bool:
    """Cancel a queued selection, or request the stop of a running one. Returns False in any other status.

    A selection that was queued again keeps the best so far of its checkpoint.
    """
    own = (Selection.id == selection_id, Selection.owner_id == owner_id)
    status = session.scalar(select(Selection.status).where(*own).with_for_update())
    if status not in {Status.QUEUED, Status.RUNNING}:
        return False
    requested = update(Selection).where(*own).values(cancel_requested_at=func.now())
    if status == Status.RUNNING:
        session.execute(requested.values(status=Status.CANCELLING))
    else:
        session.execute(requested)
        end_cancelled(session, selection_id)
    return True


def delete_selection(session: Session, owner_id: str, selection_id: str) -> bool:
    """Delete an ended selection and its dependent rows. Returns False if it has not ended or does not exist."""
    statement = delete(Selection).where(
        Selection.id == selection_id,
        Selection.owner_id == owner_id,
        Selection.status.in_([status.value for status in TERMINAL]),
    )
    return session.scalar(statement.returning(Selection.id)) is not None
