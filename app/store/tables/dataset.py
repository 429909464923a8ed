"""Datasets and their rows."""

from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, String, Text, false
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, CreatedAt, IdText, OwnerText


class Dataset(Base):
    """One uploaded set of texts. Its rows are in the table `examples`."""

    __tablename__ = "datasets"
    __table_args__ = (
        CheckConstraint("num_rows > 0", name="not_empty"),
        CheckConstraint("format IN ('csv', 'jsonl', 'json', 'text', 'workbook', 'inline')", name="format_known"),
        Index(None, "owner_id", "id"),
        Index(None, "owner_id", "sha256"),
    )

    id: Mapped[str] = mapped_column(IdText, primary_key=True)
    owner_id: Mapped[str] = mapped_column(OwnerText)
    name: Mapped[str | None] = mapped_column(String(200))
    sha256: Mapped[str] = mapped_column(String(64))
    format: Mapped[str] = mapped_column(String(20))
    num_rows: Mapped[int] = mapped_column(Integer)
    num_bytes: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")  #: of its rows, in UTF-8
    label_counts: Mapped[dict[str, int]] = mapped_column(JSONB)
    warnings: Mapped[list[Any]] = mapped_column(JSONB, default=list)
    input: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """Columns and dialect of the file; null for rows that were in no file."""
    is_kept: Mapped[bool] = mapped_column(server_default=false())
    """Whether the owner stored it by itself, so that it stays when no job uses it."""
    report: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))  #: made when first asked for
    created_at: Mapped[CreatedAt]


class Example(Base):
    """One row of a dataset. `row` is the number of the data row in the upload, counted from 0."""

    __tablename__ = "examples"
    __table_args__ = (CheckConstraint("row >= 0", name="row_not_negative"),)

    dataset_id: Mapped[str] = mapped_column(IdText, ForeignKey("datasets.id", ondelete="CASCADE"), primary_key=True)
    row: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(Text)
    label: Mapped[str] = mapped_column(Text)
