"""Names that production reads: which version each has, the history, and what a version says.

And pools: the labelled rows from which prompts find examples for each input. Only who finds some reads them.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables import Base, CreatedAt, IdText, OwnerText

NameText = sa.String(100, collation="C")


class Prompt(Base):
    """A name. A deleted one stays, so that the numbers of its versions only grow."""

    __tablename__ = "prompts"

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    name: Mapped[str] = mapped_column(NameText, primary_key=True)
    version: Mapped[int] = mapped_column(sa.Integer)
    is_deleted: Mapped[bool]


class PromptVersion(Base):
    """One change of a name, with what lists show. No row is ever changed."""

    __tablename__ = "prompt_versions"

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    name: Mapped[str] = mapped_column(NameText, primary_key=True)
    version: Mapped[int] = mapped_column(sa.Integer, primary_key=True, autoincrement=False)
    selection_id: Mapped[str | None] = mapped_column(IdText)  #: it may be deleted; null for the deletion of the name
    digest: Mapped[str | None] = mapped_column(sa.String(64))  #: of the content
    summary: Mapped[dict[str, Any]] = mapped_column(JSONB)
    note: Mapped[str | None] = mapped_column(sa.String(500))
    key_name: Mapped[str | None] = mapped_column(sa.String(100))  #: of the key that made the change
    created_at: Mapped[CreatedAt]


class PromptContent(Base):
    """What production reads of a version, copied from a result. Versions with equal content share it."""

    __tablename__ = "prompt_contents"

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    name: Mapped[str] = mapped_column(NameText, primary_key=True)
    digest: Mapped[str] = mapped_column(sa.String(64), primary_key=True)
    result: Mapped[dict[str, Any]] = mapped_column(JSONB)  #: a `PromptPart`
    classifier: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    pool_digest: Mapped[str | None] = mapped_column(sa.String(64))  #: null where no prompt finds examples for an input


class PromptEvaluation(Base):
    """The figures of a version on labelled rows that its owner had judged. They stay when the rows are gone."""

    __tablename__ = "prompt_evaluations"

    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(always=True), primary_key=True)
    owner_id: Mapped[str] = mapped_column(OwnerText)
    name: Mapped[str] = mapped_column(NameText)
    version: Mapped[int] = mapped_column(sa.Integer)
    title: Mapped[str | None] = mapped_column(sa.String(200))  #: what the rows are called
    result: Mapped[dict[str, Any]] = mapped_column(JSONB)
    created_at: Mapped[CreatedAt]


class StoredPool(Base):
    """The pool of a selection, which its result or its checkpoint needs. All attempts have one."""

    __tablename__ = "pools"

    job_id: Mapped[str] = mapped_column(IdText, primary_key=True)
    digest: Mapped[str] = mapped_column(sa.String(64))
    num_rows: Mapped[int] = mapped_column(sa.Integer)
    data: Mapped[bytes] = mapped_column(sa.LargeBinary)  #: as `PackedPool` has it


class PromptPool(Base):
    """A copy of a pool for the versions of a name. `PromptContent.pool_digest` names it."""

    __tablename__ = "prompt_pools"

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    name: Mapped[str] = mapped_column(NameText, primary_key=True)
    digest: Mapped[str] = mapped_column(sa.String(64), primary_key=True)
    num_rows: Mapped[int] = mapped_column(sa.Integer)
    first_added: Mapped[int] = mapped_column(sa.Integer)
    """Number from which added rows are counted: that of the rows of the dataset."""
    data: Mapped[bytes] = mapped_column(sa.LargeBinary)


class PromptExample(Base):
    """How the pool of some versions differs from the copy: a row that was added, or without text one taken out."""

    __tablename__ = "prompt_examples"

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    name: Mapped[str] = mapped_column(NameText, primary_key=True)
    row: Mapped[int] = mapped_column(sa.Integer, primary_key=True, autoincrement=False)
    since: Mapped[int] = mapped_column(sa.Integer, primary_key=True, autoincrement=False)  #: first version
    until: Mapped[int | None] = mapped_column(sa.Integer)  #: first version without it; null for none
    text: Mapped[str | None] = mapped_column(sa.Text)
    label: Mapped[str | None] = mapped_column(sa.Text)
