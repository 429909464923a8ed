"""Pools: the labelled rows from which prompts find examples for each input. Only who finds some reads them."""

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Integer, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Base, IdText, OwnerText
from app.store.tables.prompt import NameText


class StoredPool(Base):
    """The pool of a selection: that of its result, and before that of the best so far. All attempts have one."""

    __tablename__ = "pools"

    job_id: Mapped[str] = mapped_column(IdText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))
    num_rows: Mapped[int] = mapped_column(Integer)
    data: Mapped[bytes] = mapped_column(LargeBinary)  #: as `PackedPool` has it


class PromptPool(Base):
    """A copy of a pool for the versions of a name. `PromptContent.pool_digest` names it."""

    __tablename__ = "prompt_pools"
    __table_args__ = (ForeignKeyConstraint(["owner_id", "name"], ["prompts.owner_id", "prompts.name"]),)

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    name: Mapped[str] = mapped_column(NameText, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    num_rows: Mapped[int] = mapped_column(Integer)
    first_added: Mapped[int] = mapped_column(Integer)
    """Number from which added rows are counted: that of the rows of the dataset."""
    data: Mapped[bytes] = mapped_column(LargeBinary)


class PromptExample(Base):
    """How the pool of some versions differs from the copy: a row that was added, or without text one taken out."""

    __tablename__ = "prompt_examples"
    __table_args__ = (
        ForeignKeyConstraint(["owner_id", "name"], ["prompts.owner_id", "prompts.name"]),
        CheckConstraint("(text IS NULL) = (label IS NULL)", name="text_has_label"),
    )

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    name: Mapped[str] = mapped_column(NameText, primary_key=True)
    row: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    since: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)  #: first version
    until: Mapped[int | None] = mapped_column(Integer)  #: first version without it; null for none
    text: Mapped[str | None] = mapped_column(Text)
    label: Mapped[str | None] = mapped_column(Text)
