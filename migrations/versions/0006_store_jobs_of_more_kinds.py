"""Store evaluations and predictions: jobs of other kinds than selections, and their rows.

Revision: 0006, after 0005
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_OLD_PHASES = "'fine_tune', 'filter', 'initialise', 'search', 'evaluate'"


def _let_phases_be(phases: str) -> None:
    name = op.f("ck_selections_phase_known")
    op.drop_constraint(name, "selections")
    op.create_check_constraint(name, "selections", f"phase IN ({phases})")


def upgrade() -> None:
    op.add_column("selections", sa.Column("kind", sa.String(20), server_default="selection", nullable=False))
    op.add_column("selections", sa.Column("source", JSONB()))
    _let_phases_be(f"{_OLD_PHASES}, 'classify'")
    op.create_index(op.f("ix_selections_owner_id_kind_id"), "selections", ["owner_id", "kind", "id"])
    op.drop_index(op.f("ix_selections_owner_id_id"), "selections")
    op.create_index(
        "ix_selections_short_in_queue",
        "selections",
        ["id"],
        postgresql_where=sa.text("status = 'queued' AND kind <> 'selection'"),
    )
    op.add_column("datasets", sa.Column("is_kept", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("datasets", sa.Column("report", JSONB()))
    op.alter_column("examples", "label", nullable=True)
    op.add_column("examples", sa.Column("cells", sa.JSON()))
    op.add_column("examples", sa.Column("fault", sa.Text()))
    op.create_table(
        "predictions",
        sa.Column("job_id", sa.String(40, collation="C"), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("label", sa.String(200)),
        sa.Column("probabilities", ARRAY(sa.Double()), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("is_cut", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["selections.id"], name=op.f("fk_predictions_job_id_selections"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "place", name=op.f("pk_predictions")),
    )


def downgrade() -> None:
    op.drop_table("predictions")
    op.execute("DELETE FROM selections WHERE kind <> 'selection'")
    op.execute(
        "DELETE FROM datasets WHERE NOT EXISTS"
        " (SELECT 1 FROM selections WHERE datasets.id IN (dataset_id, test_dataset_id))"
    )
    op.drop_column("datasets", "report")
    op.drop_column("datasets", "is_kept")
    op.drop_column("examples", "fault")
    op.drop_column("examples", "cells")
    op.alter_column("examples", "label", nullable=False)
    op.drop_index("ix_selections_short_in_queue", "selections")
    op.create_index(op.f("ix_selections_owner_id_id"), "selections", ["owner_id", "id"])
    op.drop_index(op.f("ix_selections_owner_id_kind_id"), "selections")
    op.execute("UPDATE selections SET phase = 'evaluate' WHERE phase = 'classify'")
    _let_phases_be(_OLD_PHASES)
    op.drop_column("selections", "source")
    op.drop_column("selections", "kind")
