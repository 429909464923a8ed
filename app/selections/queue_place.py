"""The place of a job in the queue: what a poll of a queued job tells besides its status."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.selections.polls import JobState

MOST_COUNTED = 1000
"""Number of jobs before this one, and of owners, that are counted, so that a poll costs the same in a long queue."""

# As text, because each poll of a queued job runs it, and building it costs more than running it. Models behind servers
# have a queue of their own. The order of an owner's jobs is that of `turns`. The owners are found by leaps through the
# index, past all jobs of each.
_IS_SERVED = "coalesce(model = ANY(CAST(:served AS text[])), false)"
_WAITS = (
    "status = 'queued' AND not_before <= now() AND (CAST(:served AS text[]) = '{}' OR "
    f"{_IS_SERVED} = (SELECT is_served FROM own))"
)
_ORDER = "(attempt = 0, queued_at, id)"
_PLACE = text(
    "WITH RECURSIVE own AS (SELECT owner_id, not_before <= now() AS is_free, model,"
    f"  {_IS_SERVED} AS is_served, attempt, queued_at, id FROM jobs WHERE id = :id),"
    " owners AS (SELECT CAST('' AS varchar(100)) AS owner_id UNION ALL"
    f"  SELECT (SELECT owner_id FROM jobs WHERE {_WAITS} AND owner_id > owners.owner_id"
    "   ORDER BY owner_id LIMIT 1) FROM owners WHERE owner_id IS NOT NULL)"
    f" SELECT (SELECT count(*) FROM (SELECT 1 FROM jobs WHERE {_WAITS} AND owner_id = own.owner_id"
    f"   AND {_ORDER} < (own.attempt = 0, own.queued_at, own.id) LIMIT :most) AS earlier),"
    "  (SELECT count(*) FROM (SELECT FROM owners WHERE owner_id <> '' LIMIT :most) AS counted),"
    "  is_free, model FROM (VALUES (1)) AS one LEFT JOIN own ON true"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a queued job stands."""

    position: int | None  #: 1 is the owner's next, `MOST_COUNTED` + 1 the last; None if the job may not start yet
    owners: int  #: whose jobs may start, `MOST_COUNTED` at most; they take turns
    model: str | None  #: that the job asks; decides the queue


def find_place(session: Session, job: JobState, served: Collection[str] = ()) -> Place:
    """Return the place of a queued job among those of its owner and of its queue that may start.

    Args:
        served: names of the models whose jobs have the other queue.
    """
    values = {"id": job.id, "most": MOST_COUNTED, "served": list(served)}
    earlier, owners, is_free, model = session.execute(_PLACE, values).one()
    return Place(earlier + 1 if is_free else None, owners, model)
