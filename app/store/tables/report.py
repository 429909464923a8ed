"""The complete result of a finished selection: the JSON of `SelectionResult`.

Classifier and pool have tables of their own, because not every reader of a result needs them."""

from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, CreatedAt, IdText


class Report(Base):
    """One result per selection."""

    __tablename__ = "reports"

    job_id: Mapped[str] = mapped_column(IdText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    result: Mapped[dict[str, Any]] = mapped_column(JSONB)
    created_at: Mapped[CreatedAt]
