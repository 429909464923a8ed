"""What one owner may have: jobs that are queued or running, and bytes of all that is stored.

What counts is what docs/owners.sql shows.
"""

from typing import Any

from sqlalchemy import func, literal, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.errors import ContentTooLarge, TooManyRequests
from app.settings import Settings
from app.store.datasets import ROW_BYTES
from app.store.tables import (
    UNDER_WAY,
    Dataset,
    Job,
    PromptContent,
    PromptExample,
    PromptPool,
    Report,
    StoredCheckpoint,
    StoredClassifier,
    StoredPool,
)


def count_stored(session: Session, owner_id: str) -> int:
    """What one owner has stored (bytes)."""
    return sum(int(session.scalar(query.where(owner == owner_id)) or 0) for query, owner in _queries())


def _queries() -> list[tuple[Any, InstrumentedAttribute[str]]]:
    """Statements of bytes, each with the column of the owner."""
    size = func.pg_column_size
    rows = Dataset.num_bytes + ROW_BYTES * Dataset.num_rows
    named = size(PromptContent.result) + func.coalesce(size(PromptContent.classifier), 0)
    added = func.coalesce(func.octet_length(PromptExample.text) + func.octet_length(PromptExample.label), 0) + ROW_BYTES
    return [
        (select(func.sum(rows)), Dataset.owner_id),
        (select(func.sum(named)), PromptContent.owner_id),
        (select(func.sum(size(PromptPool.data))), PromptPool.owner_id),
        (select(func.sum(added)), PromptExample.owner_id),
        (select(func.sum(Job.reserved_bytes)), Job.owner_id),
        *(
            (select(func.sum(size(column))).join(Job, Job.id == key), Job.owner_id)
            for key, column in (
                (Report.job_id, Report.result),
                (StoredClassifier.job_id, StoredClassifier.classifier),
                (StoredPool.job_id, StoredPool.data),
                (StoredCheckpoint.job_id, StoredCheckpoint.data),
                (StoredCheckpoint.job_id, StoredCheckpoint.best),
            )
        ),
    ]


_RETRY_AFTER_SECONDS = 30


def check_quota(session: Session, owner_id: str, settings: Settings) -> None:
    """Raise TooManyRequests if the owner has as many jobs as allowed. Cheap; two requests at once may both pass."""
    most = settings.max_selections
    if most is None:
        return
    under_way = select(literal(1)).where(Job.owner_id == owner_id, Job.status.in_(UNDER_WAY))
    count = session.scalar(select(func.count()).select_from(under_way.limit(most).subquery()))
    if (count or 0) >= most:
        raise TooManyRequests(
            f"{most:,} of your jobs are queued or running, the most that this service allows at once; wait until "
            "one has ended, or cancel one",
            headers={"Retry-After": str(_RETRY_AFTER_SECONDS)},
            code="too-many-selections",
        )


def hold_quota(session: Session, owner_id: str, settings: Settings) -> None:
    """As `check_quota`, and keep other requests of this owner waiting until the transaction ends."""
    lock_owner(session, owner_id, settings)
    check_quota(session, owner_id, settings)


def lock_owner(session: Session, owner_id: str, settings: Settings) -> None:
    """Keep other requests of this owner that may exceed a quota waiting until the transaction ends."""
    if settings.max_selections is not None or settings.max_owner_bytes is not None:
        session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"jobs of {owner_id}", 0))))


def check_bytes(session: Session, owner_id: str, settings: Settings, added: int = 0) -> None:
    """Refuse more bytes than an owner may have stored, with `added` that are to be written.

    Call it before rows are written, so that a refusal costs no disk, and again afterwards under `lock_owner`, for other
    requests of the owner may have written meanwhile.
    """
    most = settings.max_owner_bytes
    if most is None:
        return
    stored = count_stored(session, owner_id) + added
    if stored > most:
        raise ContentTooLarge(
            f"with this you would have {stored:,} bytes stored, and {most:,} are allowed; delete selections, "
            "datasets and names that you no longer need",
            code="owner-full",
        )
