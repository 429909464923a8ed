"""An ended selection begins again, as its owner asks: retry of a failed one, resume of a cancelled one.

Both queue the selection again under its id. Its history stays in its events.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, exists, func, insert, select
from sqlalchemy.orm import Session

from app.lifecycle.states import Status
from app.models import Event, Report, Selection, StoredCheckpoint, StoredClassifier

RETRIED = "retried"
RESUMED = "resumed"


@dataclass(frozen=True, slots=True)
class Retried:
    """A selection after the request. `has_changed`: this request queued it again."""

    selection: Selection
    has_changed: bool


def retry_failed(session: Session, owner_id: str, selection_id: str) -> Retried | None:
    """Queue a failed selection again, from the start and with no crash charged. None if the owner has no such one."""
    selection = _lock(session, owner_id, selection_id)
    if selection is None or selection.status != Status.FAILED:
        return None if selection is None else Retried(selection, has_changed=False)
    _record(session, selection, RETRIED, {"error": selection.error})
    _queue_again(session, selection, keeps_progress=False)
    return Retried(selection, has_changed=True)


def resume_cancelled(session: Session, owner_id: str, selection_id: str) -> Retried | None:
    """Queue a cancelled selection again, to go on from its checkpoint, or from the start if it has none.

    Its partial result is deleted. None if the owner has no such selection.
    """
    selection = _lock(session, owner_id, selection_id)
    if selection is None or selection.status != Status.CANCELLED:
        return None if selection is None else Retried(selection, has_changed=False)
    has_checkpoint = _has(session, StoredCheckpoint, selection_id)
    had_result = _has(session, Report, selection_id)
    _record(session, selection, RESUMED, {"from_checkpoint": has_checkpoint, "result_deleted": had_result})
    for table in (Report, StoredClassifier):
        session.execute(delete(table).where(table.selection_id == selection_id))
    _queue_again(session, selection, keeps_progress=has_checkpoint)
    return Retried(selection, has_changed=True)


def _lock(session: Session, owner_id: str, selection_id: str) -> Selection | None:
    query = select(Selection).where(Selection.id == selection_id, Selection.owner_id == owner_id)
    return session.scalar(query.with_for_update())


def _has(session: Session, table: type[StoredCheckpoint | Report], selection_id: str) -> bool:
    return bool(session.scalar(select(exists().where(table.selection_id == selection_id))))


def _record(session: Session, selection: Selection, kind: str, data: dict[str, Any]) -> None:
    values = {"selection_id": selection.id, "type": kind, "data": {**data, "attempt": selection.attempt}}
    session.execute(insert(Event).values(**values))


def _queue_again(session: Session, selection: Selection, *, keeps_progress: bool) -> None:
    """Give the row the values of a queued selection. `attempt` stays: the next claim raises it."""
    now: Any = func.now()
    selection.status = Status.QUEUED
    selection.crashes = 0
    selection.queued_at = selection.not_before = now
    for name in ("cancel_requested_at", "cancelled_at", "failed_at"):
        setattr(selection, name, None)
    for name in ("error", "partial", "stop_reason", "provenance", "dtype", "digest"):
        setattr(selection, name, None)
    if not keeps_progress:
        selection.phase = selection.progress = None
    session.flush()
    session.refresh(selection)
