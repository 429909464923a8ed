"""Index the queued selections in the order of the queue, so that a poll reads only those before its own.

Revision: 0010, after 0009. The indexes are built and dropped without blocking writers, outside of a transaction.
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_IN_QUEUE = "(queued_at, id) WHERE status = 'queued'"
_QUEUED = "(id) WHERE status = 'queued'"


def upgrade() -> None:
    _swap_index(new="ix_selections_in_queue", definition=_IN_QUEUE, old="ix_selections_queued")


def downgrade() -> None:
    _swap_index(new="ix_selections_queued", definition=_QUEUED, old="ix_selections_in_queue")


def _swap_index(new: str, definition: str, old: str) -> None:
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {new}")  # invalid, if an earlier try failed
        op.execute(f"CREATE INDEX CONCURRENTLY {new} ON selections {definition}")
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {old}")
