"""The newest checkpoint of a selection, from which the next attempt resumes."""

from typing import Any

from sqlalchemy import ForeignKey, Integer, LargeBinary, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, CreatedAt, IdText


class StoredCheckpoint(Base):
    """`data` holds the bytes of `Checkpoint.to_bytes`. There is one row per selection.

    `best` is the result of a selection that is cancelled here, as in a report. It is null before any examples were
    chosen.
    """

    __tablename__ = "checkpoints"

    job_id: Mapped[str] = mapped_column(IdText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    attempt: Mapped[int] = mapped_column(Integer)
    phase: Mapped[str] = mapped_column(String(20))
    step: Mapped[int] = mapped_column(Integer)
    data: Mapped[bytes] = mapped_column(LargeBinary)
    best: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    created_at: Mapped[CreatedAt]
