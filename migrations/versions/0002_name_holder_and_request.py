"""Name the holder of a claim, because the number of an attempt comes again after a restore; and the request.

Revision: 0002, after 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("selections", sa.Column("holder", sa.String(32)))
    op.add_column("selections", sa.Column("request_id", sa.String(64)))


def downgrade() -> None:
    op.drop_column("selections", "request_id")
    op.drop_column("selections", "holder")
