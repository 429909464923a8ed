"""How many bytes an owner has stored: what the quota counts, and what the query in docs/operations.md shows."""

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.store.rows import ROW_BYTES
from app.store.tables import (
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
    rows = Dataset.num_bytes + ROW_BYTES * Dataset.num_rows + func.coalesce(size(Dataset.report), 0)
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
