"""Let a run be in the phase of the choice among templates and instructions.

Revision: 0011, after 0010
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_OLD_PHASES = "'fine_tune', 'filter', 'initialise', 'search', 'evaluate', 'classify'"


def upgrade() -> None:
    _let_phases_be(f"{_OLD_PHASES}, 'wording'")


def downgrade() -> None:
    op.execute("UPDATE selections SET phase = 'filter' WHERE phase = 'wording'")
    _let_phases_be(_OLD_PHASES)


def _let_phases_be(phases: str) -> None:
    name = op.f("ck_selections_phase_known")
    op.drop_constraint(name, "selections")
    op.create_check_constraint(name, "selections", f"phase IN ({phases})")
