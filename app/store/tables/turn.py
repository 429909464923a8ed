"""When each owner's jobs last had a worker: what decides whose turn it is."""

from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, OwnerText, Stamp


class Turn(Base):
    """An owner, and the last time at which an attempt at one of its jobs began or ended."""

    __tablename__ = "turns"

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    served_at: Mapped[Stamp]
