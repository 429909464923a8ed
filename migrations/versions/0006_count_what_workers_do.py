"""Create the table `counters`: what workers did, for /metrics.

Revision: 0006, after 0005. Workers of the release before write nothing into it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("label", sa.String(40), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", "label", name="pk_counters"),
    )


def downgrade() -> None:
    op.drop_table("counters")
