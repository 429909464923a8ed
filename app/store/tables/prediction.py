"""What a classifier says of each row of an evaluation or a prediction."""

from sqlalchemy import Boolean, ForeignKey, Integer, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, IdText


class StoredPrediction(Base):
    """The answer for one row. Rows are written in order, so the next attempt goes on after the last."""

    __tablename__ = "predictions"

    job_id: Mapped[str] = mapped_column(IdText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)  #: among the rows of the job
    label: Mapped[str | None] = mapped_column(String(200))  #: null for a row without an answer
    probabilities: Mapped[bytes] = mapped_column(LargeBinary)
    """Of each label, in the order of the classifier, as `pack_probabilities` has them; empty for a row without an
    answer."""
    error: Mapped[str | None] = mapped_column(Text)
    is_cut: Mapped[bool] = mapped_column(Boolean)
