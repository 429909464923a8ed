"""Tables, one per file. Importing this package registers every table."""

from app.store.tables.api_key import ApiKey
from app.store.tables.base import Base
from app.store.tables.checkpoint import StoredCheckpoint
from app.store.tables.classifier import StoredClassifier
from app.store.tables.counter import StoredCounter
from app.store.tables.dataset import Dataset, Example
from app.store.tables.event import Event
from app.store.tables.idempotency_key import IdempotencyKey
from app.store.tables.job import Job
from app.store.tables.pool import PromptExample, PromptPool, StoredPool
from app.store.tables.prompt import Prompt, PromptContent, PromptEvaluation, PromptVersion
from app.store.tables.report import Report

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
