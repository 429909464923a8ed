"""Stored answers, so that a client can repeat a POST without creating a second job."""

from typing import Any

from sqlalchemy import JSON, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, CreatedAt, IdText, OwnerText


class IdempotencyKey(Base):
    """An answer by owner and key. It outlives its job, so there is no foreign key."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "created_at"),)

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(String(64))
    job_id: Mapped[str] = mapped_column(IdText)
    # JSON instead of JSONB, because JSONB loses the order of keys and a replayed answer must be identical.
    answer: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[CreatedAt]
