"""The place of a selection in the queue: what a poll of a queued selection tells besides its status."""

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.selections.polls import SelectionState

MOST_COUNTED = 1000
"""Number of selections before this one that are counted, so that a poll costs the same in a long queue."""

# As text, because each poll of a queued selection runs it, and building it costs more than running it. The index is in
# the order of the queue, so that nothing behind the selection is read.
_PLACE = text(
    "SELECT (SELECT count(*) FROM ("
    "  SELECT 1 FROM selections WHERE status = 'queued' AND not_before <= now()"
    "  AND (queued_at, id) < (CAST(:queued_at AS timestamptz), :id) LIMIT :most) AS earlier),"
    " (SELECT not_before <= now() FROM selections WHERE id = :id)"
)


def find_position(session: Session, selection: SelectionState) -> int | None:
    """Return the place of a queued selection among those that may start; 1 is the next, `MOST_COUNTED` + 1 the last.

    None if the selection waits for another attempt and may not start yet.
    """
    values = {"id": selection.id, "queued_at": selection.queued_at, "most": MOST_COUNTED}
    counted, is_free = session.execute(_PLACE, values).one()
    return counted + 1 if is_free else None
