"""API keys: who may call. The key itself is stored nowhere, only its hash."""

from sqlalchemy import String
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
