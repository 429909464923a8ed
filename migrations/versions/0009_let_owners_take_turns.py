"""Let owners take turns: when each was last served, an index of what waits by owner, and the model of each job.

Revision: 0009, after 0008
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_TURNS = """
CREATE TABLE turns (
    owner_id varchar(100) NOT NULL CONSTRAINT pk_turns PRIMARY KEY,
    served_at timestamptz NOT NULL
)
"""
_MODEL = "ALTER TABLE selections ADD COLUMN model text GENERATED ALWAYS AS (spec ->> 'model') STORED"
_BY_OWNER = "CREATE INDEX ix_selections_in_queue ON selections (owner_id, queued_at, id) WHERE status = 'queued'"
_BY_TIME = "CREATE INDEX ix_selections_in_queue ON selections (queued_at, id) WHERE status = 'queued'"
_SHORT = "CREATE INDEX ix_selections_short_in_queue ON selections (id) WHERE status = 'queued' AND kind <> 'selection'"


def upgrade() -> None:
    op.execute(_TURNS)
    op.execute("DROP INDEX ix_selections_short_in_queue")
    op.execute("DROP INDEX ix_selections_in_queue")
    op.execute(_BY_OWNER)
    op.execute(_MODEL)


def downgrade() -> None:
    op.execute("ALTER TABLE selections DROP COLUMN model")
    op.execute("DROP INDEX ix_selections_in_queue")
    op.execute(_BY_TIME)
    op.execute(_SHORT)
    op.execute("DROP TABLE turns")
