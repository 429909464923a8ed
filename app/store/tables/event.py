"""The history of a job. A database trigger writes status and phase changes."""

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, CreatedAt, IdText


class Event(Base):
    """One event. Ids increase in order of insertion."""

    __tablename__ = "events"
    __table_args__ = (Index(None, "job_id", "id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    job_id: Mapped[str] = mapped_column(IdText, ForeignKey("jobs.id", ondelete="CASCADE"))
    at: Mapped[CreatedAt]
    type: Mapped[str] = mapped_column(String(30))
    data: Mapped[dict[str, Any]] = mapped_column(JSONB)
