"""The support examples of finished selections, one row per demonstration."""

from sqlalchemy import Double, ForeignKey, Integer, SmallInteger, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, IdText


class StoredSupportExample(Base):
    """One demonstration. `position` counts from 0 in prompt order."""

    __tablename__ = "support_examples"

    selection_id: Mapped[str] = mapped_column(IdText, ForeignKey("selections.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    row: Mapped[int] = mapped_column(Integer)
    text: Mapped[str] = mapped_column(Text)
    label: Mapped[str] = mapped_column(Text)
    label_word: Mapped[str] = mapped_column(Text)
    info_score: Mapped[float | None] = mapped_column(Double)
    tokens: Mapped[int] = mapped_column(Integer)
