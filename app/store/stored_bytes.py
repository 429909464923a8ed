"""How many bytes each owner has stored, by what they are. Quota and usage read them here."""

from collections import defaultdict
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

DATASETS, JOBS, RESULTS, CHECKPOINTS, PROMPTS = PARTS = ("datasets", "jobs", "results", "checkpoints", "prompts")
"""Datasets: texts, labels, other columns, what each row takes, and reports. Jobs: specs.
Results: with classifiers and pools. Prompts: with pools and added examples."""


def read_stored_bytes(session: Session, owner_id: str | None = None) -> dict[str, dict[str, int]]:
    """Read the bytes by owner and part, of every owner or of one. A part of which there is nothing may be missing."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for part, query, owner in _queries():
        own = query.group_by(owner) if owner_id is None else query.where(owner == owner_id).group_by(owner)
        for name, size in session.execute(own):
            found[name][part] = found[name].get(part, 0) + int(size or 0)
    return dict(found)


def count_stored(session: Session, owner_id: str) -> int:
    """What one owner has stored (bytes)."""
    return sum(read_stored_bytes(session, owner_id).get(owner_id, {}).values())


def _queries() -> list[tuple[str, Any, InstrumentedAttribute[str]]]:
    """For each part: statements of owner and bytes, and the column of the owner."""
    size = func.pg_column_size
    rows = Dataset.num_bytes + ROW_BYTES * Dataset.num_rows + func.coalesce(size(Dataset.report), 0)
    named = size(PromptContent.result) + func.coalesce(size(PromptContent.classifier), 0)
    added = func.coalesce(func.octet_length(PromptExample.text) + func.octet_length(PromptExample.label), 0) + ROW_BYTES
    return [
        (DATASETS, select(Dataset.owner_id, func.sum(rows)), Dataset.owner_id),
        (PROMPTS, select(PromptContent.owner_id, func.sum(named)), PromptContent.owner_id),
        (PROMPTS, select(PromptPool.owner_id, func.sum(size(PromptPool.data))), PromptPool.owner_id),
        (PROMPTS, select(PromptExample.owner_id, func.sum(added)), PromptExample.owner_id),
        (JOBS, select(Job.owner_id, func.sum(Job.reserved_bytes)), Job.owner_id),
        *(
            (part, select(Job.owner_id, func.sum(size(column))).join(Job, Job.id == key), Job.owner_id)
            for part, key, column in (
                (RESULTS, Report.job_id, Report.result),
                (RESULTS, StoredClassifier.job_id, StoredClassifier.classifier),
                (RESULTS, StoredPool.job_id, StoredPool.data),
                (CHECKPOINTS, StoredCheckpoint.job_id, StoredCheckpoint.data),
                (CHECKPOINTS, StoredCheckpoint.job_id, StoredCheckpoint.best),
            )
        ),
    ]
