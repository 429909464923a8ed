"""Keep the best so far beside each checkpoint, and let a renewed lease touch no index.

Revision: 0007, after 0006

The indexes are built and dropped without blocking writers, outside of a transaction. These statements may therefore
run again after a failure further down. The storage parameters hold for rows and pages that are written from now on:
room on each page for new versions of its rows, and long specs out of line, so that a renewal does not copy them.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_HELD = "id) WHERE status IN ('running', 'cancelling'"
_LEASED = "lease_until) WHERE status IN ('running', 'cancelling'"


def upgrade() -> None:
    _swap_index(new="ix_selections_held", columns=_HELD, old="ix_selections_leased")
    op.execute("ALTER TABLE selections SET (fillfactor = 70, toast_tuple_target = 512)")
    op.add_column("checkpoints", sa.Column("best", postgresql.JSONB(none_as_null=True), nullable=True))


def downgrade() -> None:
    _swap_index(new="ix_selections_leased", columns=_LEASED, old="ix_selections_held")
    op.execute("ALTER TABLE selections RESET (fillfactor, toast_tuple_target)")
    op.drop_column("checkpoints", "best")


def _swap_index(new: str, columns: str, old: str) -> None:
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {new}")  # invalid, if an earlier try failed
        op.execute(f"CREATE INDEX CONCURRENTLY {new} ON selections ({columns})")
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {old}")
