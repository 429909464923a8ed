"""Keep the pools from which prompts find examples for each input, and what owners add to those of names.

Revision: 0010, after 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def _key() -> tuple[sa.Column[str], sa.Column[str]]:
    owner_id = sa.Column("owner_id", sa.String(100), nullable=False)
    return owner_id, sa.Column("name", sa.String(100, collation="C"), nullable=False)


def _of_a_name(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_owner_id_name_prompts")
    return sa.ForeignKeyConstraint(["owner_id", "name"], ["prompts.owner_id", "prompts.name"], name=name)


def upgrade() -> None:
    op.create_table(
        "pools",
        sa.Column("selection_id", sa.String(40, collation="C"), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("num_rows", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["selection_id"], ["selections.id"], name=op.f("fk_pools_selection_id_selections"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("selection_id", name=op.f("pk_pools")),
    )
    op.create_table(
        "prompt_pools",
        *_key(),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("num_rows", sa.Integer(), nullable=False),
        sa.Column("first_added", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        _of_a_name("prompt_pools"),
        sa.PrimaryKeyConstraint("owner_id", "name", "digest", name=op.f("pk_prompt_pools")),
    )
    op.create_table(
        "prompt_examples",
        *_key(),
        sa.Column("row", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("since", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("until", sa.Integer()),
        sa.Column("text", sa.Text()),
        sa.Column("label", sa.Text()),
        sa.CheckConstraint("(text IS NULL) = (label IS NULL)", name=op.f("ck_prompt_examples_text_has_label")),
        _of_a_name("prompt_examples"),
        sa.PrimaryKeyConstraint("owner_id", "name", "row", "since", name=op.f("pk_prompt_examples")),
    )
    op.add_column("prompt_contents", sa.Column("pool_digest", sa.String(64)))


def downgrade() -> None:
    op.drop_column("prompt_contents", "pool_digest")
    for table in ("prompt_examples", "prompt_pools", "pools"):
        op.drop_table(table)
