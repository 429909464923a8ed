"""Ends runs that do not heed their cancel request, with the best so far of their checkpoints.

A work-horse ends such a run itself. This is for a work-horse that cannot: it died, hangs or is cut off from Postgres.
"""

import logging
from datetime import timedelta

from redis.exceptions import RedisError
from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.database import Database, find_sqlstate, is_away
from app.lifecycle.results import end_cancelled
from app.lifecycle.states import Status
from app.models import Selection
from app.queue import Doorbell, JobQueue
from app.settings import Settings

LOOK_SECONDS = 2.0
"""Time between two looks of an API process (seconds)."""

_HEAD_START = timedelta(seconds=2)  # a work-horse sees the request later than it was written
_MOST_ROWS = 200
_log = logging.getLogger(__name__)


def end_overdue(database: Database, queue: JobQueue, settings: Settings) -> int:
    """End the overdue runs, then have their workers kill them. Returns the number of ended selections.

    A command to kill may be lost; the sweep repeats it.
    """
    with database.session_scope() as session:
        overdue = list(session.scalars(select(Selection.id).where(_is_overdue(settings)).limit(_MOST_ROWS)))
    ended = [attempt for id_ in overdue if (attempt := _try_to_end(database, id_, settings)) is not None]
    if ended:
        _stop(queue, ended)
    return len(ended)


def _try_to_end(database: Database, selection_id: str, settings: Settings) -> Doorbell | None:
    """None if the selection has ended meanwhile, or its holder is writing, or its row is broken."""
    try:
        with database.session_scope() as session:
            return _end(session, selection_id, settings)
    except DBAPIError as error:
        if is_away(error):
            raise
        # The message is not logged, because Postgres repeats the row in it.
        _log.error(
            "%s cannot be ended (%s, SQLSTATE %s)",
            selection_id,
            type(error).__name__,
            find_sqlstate(error),
            extra={"action": "end-failed", "selection_id": selection_id},
        )
        return None


def _end(session: Session, selection_id: str, settings: Settings) -> Doorbell | None:
    query = select(Selection.attempt).where(Selection.id == selection_id, _is_overdue(settings))
    attempt = session.scalar(query.with_for_update(skip_locked=True))
    if attempt is None:
        return None
    end_cancelled(session, selection_id)
    _log.warning(
        "%s did not stop in time; it was ended with the best of its checkpoint",
        selection_id,
        extra={"action": "cancel-overdue", "selection_id": selection_id, "attempt": attempt},
    )
    return Doorbell(selection_id, attempt)


def _stop(queue: JobQueue, ended: list[Doorbell]) -> None:
    try:
        queue.stop(ended)
    except RedisError as error:
        _log.warning("Redis does not answer; the sweep will stop the runs (%s)", type(error).__name__)


def _is_overdue(settings: Settings) -> ColumnElement[bool]:
    grace = timedelta(seconds=settings.stop_grace_seconds) + _HEAD_START
    return and_(Selection.status == Status.CANCELLING, Selection.cancel_requested_at < func.now() - grace)
