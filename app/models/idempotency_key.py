"""Answers kept for a day, so that a client may repeat a POST without making a second selection."""

from typing import Any

from sqlalchemy import JSON, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, CreatedAt, IdText, OwnerText


class IdempotencyKey(Base):
    """No foreign key to the selection: the answer is kept although the selection is deleted."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "created_at"),)

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(String(64))
    selection_id: Mapped[str] = mapped_column(IdText)
    # Not jsonb, which forgets the order of keys: a replayed answer is the same to the byte.
    answer: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[CreatedAt]
