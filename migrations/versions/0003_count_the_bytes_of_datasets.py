"""Count the bytes of each dataset, for the quota of an owner.

Revision: 0003, after 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("num_bytes", sa.BigInteger(), server_default="0", nullable=False))
    with op.get_context().autocommit_block():  # the lock of the new column must not last as long as the count
        op.execute(
            "UPDATE datasets SET num_bytes = found.bytes FROM (SELECT dataset_id, sum(octet_length(text) + "
            "octet_length(label)) AS bytes FROM examples GROUP BY dataset_id) AS found WHERE found.dataset_id = id"
        )


def downgrade() -> None:
    op.drop_column("datasets", "num_bytes")
