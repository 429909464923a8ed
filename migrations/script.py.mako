"""${message}

Revision: ${up_revision}, after ${down_revision | comma,n}
"""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}

# A new CHECK on a table with rows: op.create_check_constraint(..., postgresql_not_valid=True) here, and in the next
# migration, which is a transaction of its own, op.execute("ALTER TABLE ... VALIDATE CONSTRAINT ..."). Otherwise all
# requests wait while Postgres reads the whole table under an exclusive lock.


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
