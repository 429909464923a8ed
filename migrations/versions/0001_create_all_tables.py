"""Create all tables.

Revision: 0001, the first
"""

from datetime import datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.String(40, collation="C")
_STAMP = sa.DateTime(timezone=True)

# A trigger writes the history, so that no code path can forget an event.
_RECORD_CHANGE = """
CREATE FUNCTION record_selection_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' OR OLD.status IS DISTINCT FROM NEW.status THEN
        INSERT INTO events (selection_id, at, type, data)
        VALUES (NEW.id, clock_timestamp(), 'status', jsonb_build_object(
            'from', CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END, 'to', NEW.status, 'attempt', NEW.attempt));
    END IF;
    IF NEW.phase IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.phase IS DISTINCT FROM NEW.phase) THEN
        INSERT INTO events (selection_id, at, type, data)
        VALUES (NEW.id, clock_timestamp(), 'phase', jsonb_build_object(
            'from', CASE WHEN TG_OP = 'UPDATE' THEN OLD.phase END, 'to', NEW.phase, 'attempt', NEW.attempt));
    END IF;
    RETURN NULL;
END $$
"""
_CALL_IT = """
CREATE TRIGGER record_selection_change AFTER INSERT OR UPDATE OF status, phase ON selections
FOR EACH ROW EXECUTE FUNCTION record_selection_change()
"""


def upgrade() -> None:
    _create_datasets()
    _create_idempotency_keys()
    _create_examples()
    _create_selections()
    _create_checkpoints()
    _create_events()
    _create_reports()
    _create_classifiers()
    _create_counters()
    _create_api_keys()
    op.execute(_RECORD_CHANGE)
    op.execute(_CALL_IT)


def _create_datasets() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("owner_id", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200)),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("format", sa.String(20), nullable=False),
        sa.Column("num_rows", sa.Integer(), nullable=False),
        sa.Column("label_counts", JSONB(), nullable=False),
        sa.Column("warnings", JSONB(), nullable=False),
        _created_at(),
        sa.CheckConstraint("format IN ('csv', 'jsonl', 'inline')", name="format_known"),
        sa.CheckConstraint("num_rows > 0", name="not_empty"),
    )
    op.create_index(op.f("ix_datasets_owner_id_id"), "datasets", ["owner_id", "id"])
    op.create_index(op.f("ix_datasets_owner_id_sha256"), "datasets", ["owner_id", "sha256"])


def _create_idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("owner_id", sa.String(100), primary_key=True),
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("body_sha256", sa.String(64), nullable=False),
        sa.Column("selection_id", _ID, nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        _created_at(),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"])


def _create_examples() -> None:
    op.create_table(
        "examples",
        sa.Column("dataset_id", _ID, primary_key=True),
        sa.Column("row", sa.Integer(), autoincrement=False, primary_key=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.CheckConstraint("row >= 0", name="row_not_negative"),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], ondelete="CASCADE"),
    )


def _create_selections() -> None:
    op.create_table(
        "selections",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("owner_id", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200)),
        sa.Column("dataset_id", _ID, nullable=False),
        sa.Column("test_dataset_id", _ID),
        sa.Column("spec", JSONB(), nullable=False),
        sa.Column("spec_version", sa.SmallInteger(), nullable=False),
        sa.Column("warnings", JSONB(), server_default=sa.text("'[]'::jsonb"), nullable=False),
        sa.Column("status", sa.String(20), server_default="queued", nullable=False),
        sa.Column("phase", sa.String(20)),
        sa.Column("progress", JSONB(none_as_null=True)),
        sa.Column("partial", sa.Boolean()),
        sa.Column("stop_reason", sa.String(20)),
        sa.Column("error", JSONB(none_as_null=True)),
        sa.Column("provenance", JSONB(none_as_null=True)),
        sa.Column("dtype", sa.String(20)),
        sa.Column("digest", sa.String(64)),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("crashes", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until", _STAMP),
        sa.Column("not_before", _STAMP, server_default=sa.func.now(), nullable=False),
        _created_at(),
        sa.Column("queued_at", _STAMP, server_default=sa.func.now(), nullable=False),
        sa.Column("started_at", _STAMP),
        sa.Column("cancel_requested_at", _STAMP),
        sa.Column("cancelled_at", _STAMP),
        sa.Column("succeeded_at", _STAMP),
        sa.Column("failed_at", _STAMP),
        sa.CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name="error_when_failed"),
        sa.CheckConstraint(
            "(status IN ('running', 'cancelling')) = (lease_until IS NOT NULL)", name="leased_while_running"
        ),
        sa.CheckConstraint("phase IN ('fine_tune', 'filter', 'initialise', 'search', 'evaluate')", name="phase_known"),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'cancelling', 'cancelled', 'succeeded', 'failed')", name="status_known"
        ),
        sa.CheckConstraint("stop_reason IN ('completed', 'budget', 'cancelled')", name="stop_reason_known"),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"]),
        sa.ForeignKeyConstraint(["test_dataset_id"], ["datasets.id"]),
    )
    op.create_index(op.f("ix_selections_dataset_id"), "selections", ["dataset_id"])
    op.create_index(
        "ix_selections_held", "selections", ["id"], postgresql_where=sa.text("status IN ('running', 'cancelling')")
    )
    op.create_index(op.f("ix_selections_owner_id_id"), "selections", ["owner_id", "id"])
    op.create_index(op.f("ix_selections_owner_id_status_id"), "selections", ["owner_id", "status", "id"])
    op.create_index(
        "ix_selections_in_queue", "selections", ["queued_at", "id"], postgresql_where=sa.text("status = 'queued'")
    )
    op.create_index(op.f("ix_selections_test_dataset_id"), "selections", ["test_dataset_id"])
    # Room on each page for new versions of its rows, and long specs out of line, so that a renewed lease copies little.
    op.execute("ALTER TABLE selections SET (fillfactor = 70, toast_tuple_target = 512)")


def _create_checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("selection_id", _ID, primary_key=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(20), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("best", JSONB(none_as_null=True)),
        _created_at(),
        sa.ForeignKeyConstraint(["selection_id"], ["selections.id"], ondelete="CASCADE"),
    )


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), primary_key=True),
        sa.Column("selection_id", _ID, nullable=False),
        sa.Column("at", _STAMP, server_default=sa.func.now(), nullable=False),
        sa.Column("type", sa.String(30), nullable=False),
        sa.Column("data", JSONB(), nullable=False),
        sa.ForeignKeyConstraint(["selection_id"], ["selections.id"], ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_events_selection_id_id"), "events", ["selection_id", "id"])


def _create_reports() -> None:
    op.create_table(
        "reports",
        sa.Column("selection_id", _ID, primary_key=True),
        sa.Column("result", JSONB(), nullable=False),
        _created_at(),
        sa.ForeignKeyConstraint(["selection_id"], ["selections.id"], ondelete="CASCADE"),
    )


def _create_classifiers() -> None:
    op.create_table(
        "classifiers",
        sa.Column("selection_id", _ID, primary_key=True),
        sa.Column("classifier", JSONB(), nullable=False),
        _created_at(),
        sa.ForeignKeyConstraint(["selection_id"], ["selections.id"], ondelete="CASCADE"),
    )


def _create_counters() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("label", sa.String(40), primary_key=True),
        sa.Column("value", sa.Double(), nullable=False),
    )


def _create_api_keys() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("owner_id", sa.String(100), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("prefix", sa.String(20), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        _created_at(),
        sa.Column("expires_at", _STAMP),
        sa.Column("revoked_at", _STAMP),
        sa.Column("last_used_at", _STAMP),
        sa.UniqueConstraint("sha256"),
    )


def _created_at() -> sa.Column[datetime]:
    return sa.Column("created_at", _STAMP, server_default=sa.func.now(), nullable=False)
