"""The classifier to use of a finished selection: the JSON of `lens_engine.classifier.classifier.Classifier`."""

from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, CreatedAt, IdText


class StoredClassifier(Base):
    """At most one classifier per selection. JSONB loses the order of keys, and no classifier depends on it."""

    __tablename__ = "classifiers"

    job_id: Mapped[str] = mapped_column(IdText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    classifier: Mapped[dict[str, Any]] = mapped_column(JSONB)
    created_at: Mapped[CreatedAt]
