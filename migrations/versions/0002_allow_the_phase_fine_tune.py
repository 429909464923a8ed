"""Allow the phase fine_tune, with which methods based on a fine-tuned model begin.

Revision: 0002, after 0001
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NAME = "ck_selections_phase_known"


def upgrade() -> None:
    _replace("phase IN ('fine_tune', 'filter', 'initialise', 'search', 'evaluate')")


def downgrade() -> None:
    op.execute("UPDATE selections SET phase = 'filter' WHERE phase = 'fine_tune'")
    _replace("phase IN ('filter', 'initialise', 'search', 'evaluate')")


def _replace(condition: str) -> None:
    op.drop_constraint(op.f(_NAME), "selections", type_="check")
    op.create_check_constraint(op.f(_NAME), "selections", condition)
