"""Create the tables of the names that production reads.

Revision: 0005, after 0004
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0005"
down_revision = "0004"
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
        "prompts",
        *_key(),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("is_deleted", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "name", name=op.f("pk_prompts")),
    )
    op.create_table(
        "prompt_versions",
        *_key(),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("selection_id", sa.String(40, collation="C")),
        sa.Column("digest", sa.String(64)),
        sa.Column("summary", JSONB(), nullable=False),
        sa.Column("note", sa.String(500)),
        sa.Column("key_name", sa.String(100)),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint(
            "(selection_id IS NULL) = (digest IS NULL)", name=op.f("ck_prompt_versions_deletion_has_neither")
        ),
        _of_a_name("prompt_versions"),
        sa.PrimaryKeyConstraint("owner_id", "name", "version", name=op.f("pk_prompt_versions")),
    )
    op.create_table(
        "prompt_contents",
        *_key(),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("result", JSONB(), nullable=False),
        sa.Column("classifier", JSONB()),
        _of_a_name("prompt_contents"),
        sa.PrimaryKeyConstraint("owner_id", "name", "digest", name=op.f("pk_prompt_contents")),
    )


def downgrade() -> None:
    for table in ("prompt_contents", "prompt_versions", "prompts"):
        op.drop_table(table)
