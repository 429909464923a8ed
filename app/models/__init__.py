"""Tables, one per file. Importing this package registers every table."""

from app.models.api_key import ApiKey
from app.models.base import Base
from app.models.checkpoint import StoredCheckpoint
from app.models.classifier import StoredClassifier
from app.models.counter import StoredCounter
from app.models.dataset import Dataset, Example
from app.models.event import Event
from app.models.idempotency_key import IdempotencyKey
from app.models.job import Job
from app.models.pool import PromptExample, PromptPool, StoredPool
from app.models.prediction import StoredPrediction
from app.models.prompt import Prompt, PromptContent, PromptVersion
from app.models.report import Report
from app.models.turn import Turn

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
    "PromptExample",
    "PromptPool",
    "PromptVersion",
    "Report",
    "StoredCheckpoint",
    "StoredClassifier",
    "StoredCounter",
    "StoredPool",
    "StoredPrediction",
    "Turn",
]
