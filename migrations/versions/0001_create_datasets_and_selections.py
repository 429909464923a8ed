"""Create datasets, selections and their dependent tables.

Revision: 0001, the first
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

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
    _create_support_examples()
    op.execute(_RECORD_CHANGE)
    op.execute(_CALL_IT)


def downgrade() -> None:
    for table in (
        "support_examples",
        "reports",
        "events",
        "checkpoints",
        "selections",
        "examples",
        "idempotency_keys",
        "datasets",
    ):
        op.drop_table(table)
    op.execute("DROP FUNCTION record_selection_change()")


def _create_datasets() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("owner_id", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("format", sa.String(length=20), nullable=False),
        sa.Column("num_rows", sa.Integer(), nullable=False),
        sa.Column("label_counts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("warnings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("format IN ('csv', 'jsonl', 'parquet', 'inline')", name=op.f("ck_datasets_format_known")),
        sa.CheckConstraint("num_rows > 0", name=op.f("ck_datasets_not_empty")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
    )
    op.create_index(op.f("ix_datasets_owner_id_id"), "datasets", ["owner_id", "id"], unique=False)


def _create_idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("owner_id", sa.String(length=100), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("selection_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"], unique=False)


def _create_examples() -> None:
    op.create_table(
        "examples",
        sa.Column("dataset_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("row", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.CheckConstraint("row >= 0", name=op.f("ck_examples_row_not_negative")),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_examples_dataset_id_datasets"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("dataset_id", "row", name=op.f("pk_examples")),
    )


def _create_selections() -> None:
    op.create_table(
        "selections",
        sa.Column("id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("owner_id", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=True),
        sa.Column("dataset_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("test_dataset_id", sa.String(length=40, collation="C"), nullable=True),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("spec_version", sa.SmallInteger(), nullable=False),
        sa.Column(
            "warnings", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'::jsonb"), nullable=False
        ),
        sa.Column("status", sa.String(length=20), server_default="queued", nullable=False),
        sa.Column("phase", sa.String(length=20), nullable=True),
        sa.Column("progress", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("partial", sa.Boolean(), nullable=True),
        sa.Column("stop_reason", sa.String(length=20), nullable=True),
        sa.Column("error", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("provenance", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("dtype", sa.String(length=20), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("crashes", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("not_before", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancelled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("succeeded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(status = 'failed') = (error IS NOT NULL)", name=op.f("ck_selections_error_when_failed")),
        sa.CheckConstraint(
            "(status IN ('running', 'cancelling')) = (lease_until IS NOT NULL)",
            name=op.f("ck_selections_leased_while_running"),
        ),
        sa.CheckConstraint(
            "phase IN ('filter', 'initialise', 'search', 'evaluate')", name=op.f("ck_selections_phase_known")
        ),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'cancelling', 'cancelled', 'succeeded', 'failed')",
            name=op.f("ck_selections_status_known"),
        ),
        sa.CheckConstraint(
            "stop_reason IN ('completed', 'budget', 'cancelled')", name=op.f("ck_selections_stop_reason_known")
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("fk_selections_dataset_id_datasets")),
        sa.ForeignKeyConstraint(
            ["test_dataset_id"], ["datasets.id"], name=op.f("fk_selections_test_dataset_id_datasets")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_selections")),
    )
    op.create_index(op.f("ix_selections_dataset_id"), "selections", ["dataset_id"], unique=False)
    op.create_index(
        "ix_selections_leased",
        "selections",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("status IN ('running', 'cancelling')"),
    )
    op.create_index(op.f("ix_selections_owner_id_id"), "selections", ["owner_id", "id"], unique=False)
    op.create_index(op.f("ix_selections_owner_id_status_id"), "selections", ["owner_id", "status", "id"], unique=False)
    op.create_index(
        "ix_selections_queued", "selections", ["id"], unique=False, postgresql_where=sa.text("status = 'queued'")
    )
    op.create_index(op.f("ix_selections_test_dataset_id"), "selections", ["test_dataset_id"], unique=False)


def _create_checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("selection_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=20), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["selection_id"], ["selections.id"], name=op.f("fk_checkpoints_selection_id_selections"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("selection_id", name=op.f("pk_checkpoints")),
    )


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("selection_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("type", sa.String(length=30), nullable=False),
        sa.Column("data", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["selection_id"], ["selections.id"], name=op.f("fk_events_selection_id_selections"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_selection_id_id"), "events", ["selection_id", "id"], unique=False)


def _create_reports() -> None:
    op.create_table(
        "reports",
        sa.Column("selection_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["selection_id"], ["selections.id"], name=op.f("fk_reports_selection_id_selections"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("selection_id", name=op.f("pk_reports")),
    )


def _create_support_examples() -> None:
    op.create_table(
        "support_examples",
        sa.Column("selection_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("position", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("label_word", sa.Text(), nullable=False),
        sa.Column("info_score", sa.Double(), nullable=True),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["selection_id"],
            ["selections.id"],
            name=op.f("fk_support_examples_selection_id_selections"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("selection_id", "position", name=op.f("pk_support_examples")),
    )
