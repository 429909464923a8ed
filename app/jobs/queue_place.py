"""The place of a job in the queue: what a poll of a queued job tells besides its status."""

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.jobs.polls import JobState

MOST_COUNTED = 1000
"""Number of jobs before this one that are counted, so that a poll costs the same in a long queue."""

# As text, because each poll of a queued job runs it, and building it costs more than running it. The indexes are in the
# order of the queue, so that nothing behind the job is read. A job that is no selection goes before all that wait, so
# the newest of them is the next.
_PLACE = text(
    "SELECT"
    " (SELECT count(*) FROM (SELECT 1 FROM selections WHERE status = 'queued' AND not_before <= now()"
    "  AND kind = 'selection' AND (queued_at, id) < (CAST(:queued_at AS timestamptz), :id) LIMIT :most) AS earlier),"
    " (SELECT count(*) FROM (SELECT 1 FROM selections WHERE status = 'queued' AND not_before <= now()"
    "  AND kind <> 'selection' AND (:is_selection OR (queued_at, id) > (CAST(:queued_at AS timestamptz), :id))"
    "  LIMIT :most) AS short),"
    " (SELECT not_before <= now() FROM selections WHERE id = :id)"
)


def find_position(session: Session, job: JobState) -> int | None:
    """Return the place of a queued job among those that may start; 1 is the next, `MOST_COUNTED` + 1 the last.

    None if the job waits for another attempt and may not start yet.
    """
    values = {"id": job.id, "queued_at": job.queued_at, "most": MOST_COUNTED}
    is_selection = job.id.startswith("sel_")
    earlier, short, is_free = session.execute(_PLACE, {**values, "is_selection": is_selection}).one()
    before = earlier + short if is_selection else short
    return min(before, MOST_COUNTED) + 1 if is_free else None
