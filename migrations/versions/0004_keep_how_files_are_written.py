"""Keep the column of the texts and the dialect of each uploaded file.

Revision: 0004, after 0003
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("input", JSONB()))


def downgrade() -> None:
    op.drop_column("datasets", "input")
