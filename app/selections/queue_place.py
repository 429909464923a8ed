"""The place of a selection in the queue: what a poll of a queued selection tells besides its status."""

from datetime import timedelta

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.ids import first_id
from app.selections.polls import SelectionState
from app.selections.states import Status

MOST_COUNTED = 1000
"""Number of selections before this one that are counted, so that a poll costs the same in a long queue."""

_CLOCKS_APART = timedelta(minutes=10)

# As text, because each poll of a queued selection runs it, and building it costs more than running it. A selection that
# was queued earlier was also created earlier, so its id is in the first part of the index. The time in an id is that of
# an API process.
_PLACE = text(
    "SELECT (SELECT count(*) FROM ("
    "  SELECT 1 FROM selections WHERE status = 'queued' AND id < :first_id AND not_before <= now()"
    "  AND (queued_at, id) < (CAST(:queued_at AS timestamptz), :id) LIMIT :most) AS earlier),"
    " (SELECT not_before <= now() FROM selections WHERE id = :id)"
)


def find_position(session: Session, selection: SelectionState) -> int | None:
    """Return the place among the queued selections that may start; 1 is the next, `MOST_COUNTED` + 1 the last told.

    None if the selection is not queued, or waits for another attempt and may not start yet.
    """
    if selection.status != Status.QUEUED:
        return None
    values = {
        "id": selection.id,
        "queued_at": selection.queued_at,
        "first_id": first_id("sel", selection.queued_at + _CLOCKS_APART),
        "most": MOST_COUNTED,
    }
    counted, is_free = session.execute(_PLACE, values).one()
    return counted + 1 if is_free else None
