"""Keys of owners, answers to repeated requests, and counts of the workers, which outlive their processes."""

from typing import Any

from sqlalchemy import JSON, Double, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, CreatedAt, IdText, OwnerText, Stamp


class ApiKey(Base):
    """A key of an owner. A revoked key stays, so that it can be told from one that never was."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(IdText, primary_key=True)
    owner_id: Mapped[str] = mapped_column(OwnerText)
    name: Mapped[str] = mapped_column(String(100))
    prefix: Mapped[str] = mapped_column(String(20))
    sha256: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[Stamp | None]
    revoked_at: Mapped[Stamp | None]
    last_used_at: Mapped[Stamp | None]


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


class StoredCounter(Base):
    """A number that only grows. `label` tells apart what the name counts: an outcome, a phase."""

    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    label: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[float] = mapped_column(Double)
