"""Index datasets by owner and SHA-256, so that a repeated upload finds the stored dataset.

Revision: 0009, after 0008. The index is built without blocking writers, outside of a transaction.
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_NAME = "ix_datasets_owner_id_sha256"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_NAME}")  # invalid, if an earlier try failed
        op.execute(f"CREATE INDEX CONCURRENTLY {_NAME} ON datasets (owner_id, sha256)")


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_NAME}")
