"""Take the options `labels` out of specs when the schema is downgraded.

Revision: 0005, after 0004. The upgrade changes nothing: a spec of version 3 has no such options and means their
defaults.

The downgrade makes specs of version 4 readable for the release before. Their selections then run without these
options.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ANSWERS = sa.table(
    "idempotency_keys", sa.column("owner_id", sa.String), sa.column("key", sa.String), sa.column("answer", sa.JSON)
)


def upgrade() -> None:
    """Nothing to do."""


def downgrade() -> None:
    op.execute("UPDATE selections SET spec = spec #- '{config,labels}', spec_version = 3 WHERE spec_version = 4")
    # Row by row, because SQL would lose the order of the keys.
    connection = op.get_bind()
    for owner_id, key, answer in connection.execute(sa.select(_ANSWERS)).all():
        answer["spec"]["config"].pop("labels", None)
        row = _ANSWERS.update().where(_ANSWERS.c.owner_id == owner_id, _ANSWERS.c.key == key)
        connection.execute(row.values(answer=answer))
