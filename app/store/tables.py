"""Columns of the tables. All times are of the database's clock.

Constraints and indexes stand in `migrations/versions/` alone.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Status(StrEnum):
    """Status of a job.

    - `queued`: waits for a worker, also after a crash or a shutdown of its worker.
    - `running`: a worker searches.
    - `cancelling`: a worker was asked to stop and has not stopped yet.
    - `cancelled`: cancelled by its owner; may have a partial result.
    - `succeeded`: has its support examples.
    - `failed`: `error` says why.
    """

    QUEUED = "queued"
    RUNNING = "running"  #: a worker holds its lease
    CANCELLING = "cancelling"  #: a worker holds its lease
    CANCELLED = "cancelled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


TERMINAL = frozenset({Status.CANCELLED, Status.SUCCEEDED, Status.FAILED})
"""Statuses that only a request of the owner changes: a resume of a cancelled or failed job."""

LEASED = frozenset({Status.RUNNING, Status.CANCELLING})
"""Statuses in which a worker holds the job."""

UNDER_WAY = tuple(status.value for status in (Status.QUEUED, *sorted(LEASED)))
"""Statuses of what is queued or running."""


Stamp = Annotated[datetime, mapped_column(sa.DateTime(timezone=True))]
CreatedAt = Annotated[datetime, mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())]

IdText = sa.String(40, collation="C")
"""Prefixed ULIDs. The collation is byte order, so an index lists ids in order of creation."""

OwnerText = sa.String(100)


class Base(DeclarativeBase):
    """Base of all tables."""


class Dataset(Base):
    """One uploaded set of texts. Its rows are in the table `examples`."""

    __tablename__ = "datasets"

    id: Mapped[str] = mapped_column(IdText, primary_key=True)
    owner_id: Mapped[str] = mapped_column(OwnerText)
    name: Mapped[str | None] = mapped_column(sa.String(200))
    sha256: Mapped[str] = mapped_column(sa.String(64))
    format: Mapped[str] = mapped_column(sa.String(20))
    num_rows: Mapped[int] = mapped_column(sa.Integer)
    num_bytes: Mapped[int] = mapped_column(sa.BigInteger, default=0, server_default="0")  #: of its rows, in UTF-8
    label_counts: Mapped[dict[str, int]] = mapped_column(JSONB)
    warnings: Mapped[list[Any]] = mapped_column(JSONB, default=list)
    input: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """Columns and dialect of the file; null for rows that were in no file."""
    is_kept: Mapped[bool] = mapped_column(server_default=sa.false())
    """Whether the owner stored it by itself, so that it stays when no job uses it."""
    created_at: Mapped[CreatedAt]


class Example(Base):
    """One row of a dataset. `row` is the number of the data row in the upload, counted from 0."""

    __tablename__ = "examples"

    dataset_id: Mapped[str] = mapped_column(IdText, primary_key=True)
    row: Mapped[int] = mapped_column(sa.Integer, primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(sa.Text)
    label: Mapped[str] = mapped_column(sa.Text)


class Job(Base):
    """A selection, and its outcome.

    `attempt` counts claims; with `holder`, drawn by each claim, it is the fencing token.
    """

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(IdText, primary_key=True)
    owner_id: Mapped[str] = mapped_column(OwnerText)
    name: Mapped[str | None] = mapped_column(sa.String(200))
    dataset_id: Mapped[str] = mapped_column(IdText)
    test_dataset_id: Mapped[str | None] = mapped_column(IdText)
    spec: Mapped[dict[str, Any]] = mapped_column(JSONB)
    model: Mapped[str | None] = mapped_column(sa.Text, sa.Computed("spec ->> 'model'::text", persisted=True))
    """Of the spec. Claims, sweeps and polls read it of each job that waits, and a spec may have megabytes."""
    num_labels: Mapped[int | None] = mapped_column(sa.Integer)  #: of a selection, without those that it leaves out
    reserved_bytes: Mapped[int] = mapped_column(sa.BigInteger, server_default="0")
    """Size of the spec (bytes)."""
    request_id: Mapped[str | None] = mapped_column(sa.String(64))  #: of the submission, for the worker's log
    warnings: Mapped[list[Any]] = mapped_column(JSONB, server_default=sa.text("'[]'::jsonb"))

    status: Mapped[str] = mapped_column(sa.String(20), server_default="queued")
    phase: Mapped[str | None] = mapped_column(sa.String(20))
    progress: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    partial: Mapped[bool | None]
    stop_reason: Mapped[str | None] = mapped_column(sa.String(20))
    error: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    figures: Mapped[list[Any] | None] = mapped_column(JSONB(none_as_null=True))
    """Of a selection with a result: its headlines. A list reads them of each, and a result may have megabytes."""
    provenance: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    dtype: Mapped[str | None] = mapped_column(sa.String(20))
    digest: Mapped[str | None] = mapped_column(sa.String(64))

    attempt: Mapped[int] = mapped_column(sa.Integer, server_default="0")
    holder: Mapped[str | None] = mapped_column(sa.String(32))
    crashes: Mapped[int] = mapped_column(sa.Integer, server_default="0")
    lease_until: Mapped[Stamp | None]
    not_before: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())

    created_at: Mapped[CreatedAt]
    queued_at: Mapped[CreatedAt]
    started_at: Mapped[Stamp | None]
    cancel_requested_at: Mapped[Stamp | None]
    cancelled_at: Mapped[Stamp | None]
    succeeded_at: Mapped[Stamp | None]
    failed_at: Mapped[Stamp | None]


class Event(Base):
    """One event. Ids increase in order of insertion."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(always=True), primary_key=True)
    job_id: Mapped[str] = mapped_column(IdText)
    at: Mapped[CreatedAt]
    type: Mapped[str] = mapped_column(sa.String(30))
    data: Mapped[dict[str, Any]] = mapped_column(JSONB)


class StoredCheckpoint(Base):
    """`data` holds the bytes of `Checkpoint.to_bytes`. There is one row per selection.

    `best` is the result of a selection that is cancelled here, as in a report. It is null before any examples were
    chosen.
    """

    __tablename__ = "checkpoints"

    job_id: Mapped[str] = mapped_column(IdText, primary_key=True)
    attempt: Mapped[int] = mapped_column(sa.Integer)
    phase: Mapped[str] = mapped_column(sa.String(20))
    step: Mapped[int] = mapped_column(sa.Integer)
    data: Mapped[bytes] = mapped_column(sa.LargeBinary)
    best: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    created_at: Mapped[CreatedAt]


class Report(Base):
    """One result per selection."""

    __tablename__ = "reports"

    job_id: Mapped[str] = mapped_column(IdText, primary_key=True)
    result: Mapped[dict[str, Any]] = mapped_column(JSONB)
    created_at: Mapped[CreatedAt]


class StoredClassifier(Base):
    """At most one classifier per selection. JSONB loses the order of keys, and no classifier depends on it."""

    __tablename__ = "classifiers"

    job_id: Mapped[str] = mapped_column(IdText, primary_key=True)
    classifier: Mapped[dict[str, Any]] = mapped_column(JSONB)
    created_at: Mapped[CreatedAt]


class ApiKey(Base):
    """A key of an owner. A revoked key stays, so that it can be told from one that never was."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(IdText, primary_key=True)
    owner_id: Mapped[str] = mapped_column(OwnerText)
    name: Mapped[str] = mapped_column(sa.String(100))
    prefix: Mapped[str] = mapped_column(sa.String(20))
    sha256: Mapped[str] = mapped_column(sa.String(64))
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[Stamp | None]
    revoked_at: Mapped[Stamp | None]
    last_used_at: Mapped[Stamp | None]


class IdempotencyKey(Base):
    """An answer by owner and key. It outlives its job, so there is no foreign key."""

    __tablename__ = "idempotency_keys"

    owner_id: Mapped[str] = mapped_column(OwnerText, primary_key=True)
    key: Mapped[str] = mapped_column(sa.String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(sa.String(64))
    job_id: Mapped[str] = mapped_column(IdText)
    # JSON instead of JSONB, because JSONB loses the order of keys and a replayed answer must be identical.
    answer: Mapped[dict[str, Any]] = mapped_column(sa.JSON)
    created_at: Mapped[CreatedAt]


class StoredCounter(Base):
    """A number that only grows. `label` tells apart what the name counts: an outcome, a phase."""

    __tablename__ = "counters"

    name: Mapped[str] = mapped_column(sa.String(40), primary_key=True)
    label: Mapped[str] = mapped_column(sa.String(40), primary_key=True)
    value: Mapped[float] = mapped_column(sa.Double)


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
