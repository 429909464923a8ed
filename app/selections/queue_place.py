"""The place of a selection in the queue: what a poll of a queued selection tells besides its status."""

from datetime import timedelta

from sqlalchemy import func, literal, select, tuple_
from sqlalchemy.orm import Session

from app.ids import first_id
from app.models import Selection
from app.selections.polls import SelectionState
from app.selections.states import Status

MOST_COUNTED = 1000
"""Number of selections before this one that are counted, so that a poll costs the same in a long queue."""

_CLOCKS_APART = timedelta(minutes=10)


def find_position(session: Session, selection: SelectionState) -> int | None:
    """Return the place among the queued selections that may start; 1 is the next, `MOST_COUNTED` + 1 the last told.

    None if the selection is not queued, or waits for another attempt and may not start yet.
    """
    if selection.status != Status.QUEUED:
        return None
    # A selection that was queued earlier was also created earlier, so its id is in the first part of the index. The
    # time in an id is that of an API process.
    before = select(literal(1)).where(
        Selection.status == literal(Status.QUEUED.value, literal_execute=True),
        Selection.id < first_id("sel", selection.queued_at + _CLOCKS_APART),
        Selection.not_before <= func.now(),
        tuple_(Selection.queued_at, Selection.id) < tuple_(literal(selection.queued_at), literal(selection.id)),
    )
    count = select(func.count()).select_from(before.limit(MOST_COUNTED).subquery())
    may_start = select(Selection.not_before <= func.now()).where(Selection.id == selection.id)
    counted, is_free = session.execute(select(count.scalar_subquery(), may_start.scalar_subquery())).one()
    return counted + 1 if is_free else None
