"""Let the rows of a dataset come from JSON, texts with labels in their lines, and workbooks.

Revision: 0012, after 0011
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_OLD_FORMATS = "'csv', 'jsonl', 'inline'"


def upgrade() -> None:
    _let_formats_be("'csv', 'jsonl', 'json', 'text', 'workbook', 'inline'")


def downgrade() -> None:
    op.execute(f"UPDATE datasets SET format = 'csv' WHERE format NOT IN ({_OLD_FORMATS})")
    _let_formats_be(_OLD_FORMATS)


def _let_formats_be(formats: str) -> None:
    name = op.f("ck_datasets_format_known")
    op.drop_constraint(name, "datasets")
    op.create_check_constraint(name, "datasets", f"format IN ({formats})")
