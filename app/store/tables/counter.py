"""Counts of the workers, which outlive their processes."""

from sqlalchemy import Double, String
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base


class StoredCounter(Base):
    """A number that only grows. `label` tells apart what the name counts: an outcome, a phase."""

    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    label: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[float] = mapped_column(Double)
