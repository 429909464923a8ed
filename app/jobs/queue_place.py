"""The place of a job in the queue: what a poll of a queued job tells besides its status."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.jobs.polls import JobState

MOST_COUNTED = 1000
"""Number of jobs before this one that are counted, so that a poll costs the same in a long queue. Those of the
other queue are read besides (2 us each)."""

# As text, because each poll of a queued job runs it, and building it costs more than running it. The indexes are in the
# order of the queue, so that nothing behind the job is read. A job that is no selection goes before all that wait, so
# the newest of them is the next. Models behind servers have a queue of their own; without such models, no spec is read.
_IS_SERVED = "coalesce(spec->>'model' = ANY(CAST(:served AS text[])), false)"
_WAITS = (
    f"status = 'queued' AND not_before <= now() AND (CAST(:served AS text[]) = '{{}}' OR {_IS_SERVED} = own.is_served)"
)
_PLACE = text(
    f"WITH own AS (SELECT not_before <= now() AS is_free, spec->>'model' AS model, {_IS_SERVED} AS is_served"
    " FROM selections WHERE id = :id) SELECT"
    f" (SELECT count(*) FROM (SELECT 1 FROM selections WHERE {_WAITS} AND kind = 'selection'"
    "  AND (queued_at, id) < (CAST(:queued_at AS timestamptz), :id) LIMIT :most) AS earlier),"
    f" (SELECT count(*) FROM (SELECT 1 FROM selections WHERE {_WAITS} AND kind <> 'selection'"
    "  AND (:is_selection OR (queued_at, id) > (CAST(:queued_at AS timestamptz), :id))"
    "  LIMIT :most) AS short),"
    " is_free, model FROM (VALUES (1)) AS one LEFT JOIN own ON true"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a queued job stands."""

    position: int | None  #: 1 is the next, `MOST_COUNTED` + 1 the last; None if the job may not start yet
    model: str | None  #: that the job asks; decides the queue


def find_place(session: Session, job: JobState, served: Collection[str] = ()) -> Place:
    """Return the place of a queued job among those of its queue that may start.

    Args:
        served: names of the models whose jobs have the other queue.
    """
    values = {"id": job.id, "queued_at": job.queued_at, "most": MOST_COUNTED, "served": list(served)}
    is_selection = job.id.startswith("sel_")
    earlier, short, is_free, model = session.execute(_PLACE, {**values, "is_selection": is_selection}).one()
    before = earlier + short if is_selection else short
    return Place(min(before, MOST_COUNTED) + 1 if is_free else None, model)
