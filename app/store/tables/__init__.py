"""Tables. Importing this package registers every table."""

from app.store.tables.base import Base
from app.store.tables.dataset import Dataset, Example
from app.store.tables.job import Event, Job, Report, StoredCheckpoint, StoredClassifier
from app.store.tables.prompt import (
    Prompt,
    PromptContent,
    PromptEvaluation,
    PromptExample,
    PromptPool,
    PromptVersion,
    StoredPool,
)
from app.store.tables.service import ApiKey, IdempotencyKey, StoredCounter

__all__ = [
    "ApiKey",
    "Base",
    "Dataset",
    "Event",
    "Example",
    "IdempotencyKey",
    "Job",
    "Prompt",
    "PromptContent",
    "PromptEvaluation",
    "PromptExample",
    "PromptPool",
    "PromptVersion",
    "Report",
    "StoredCheckpoint",
    "StoredClassifier",
    "StoredCounter",
    "StoredPool",
]
