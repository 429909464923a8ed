"""Rename forwards to pairs in stored JSON, and take options that are gone out of stored specs.

Revision: 0003, after 0002. A result keeps the configuration that its digest covers.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_RENAMED = (
    ("selections", "progress", (), "forwards_done", "pairs_done"),
    ("selections", "progress", (), "forwards_total", "pairs_total"),
    ("selections", "spec", ("config", "budget"), "max_forwards", "max_pairs"),
    ("reports", "result", ("cost",), "forwards", "pairs"),
    ("reports", "result", ("cost",), "permutations_evaluated", "permutations_judged"),
    ("reports", "result", ("cost",), "permutations_eliminated", "permutations_dropped"),
)
"""Table, column, path of the object that has the key, the key before, the key after."""

_GONE = ("elimination", "random_substitutions", "initial_starts", "shortlist")
"""Options of `config.search`. Without them the defaults hold, which no preset changed."""


def upgrade() -> None:
    gone = " ".join(f"#- '{{config,search,{name}}}'" for name in _GONE)
    op.execute(f"UPDATE selections SET spec = spec {gone}, spec_version = 2 WHERE spec_version = 1")
    op.execute("UPDATE selections SET progress = progress - 'message' WHERE progress IS NOT NULL")
    for table, column, path, before, after in _RENAMED:
        _rename(table, column, path, before, after)


def downgrade() -> None:
    op.execute("UPDATE selections SET spec_version = 1 WHERE spec_version = 2")
    for table, column, path, before, after in _RENAMED:
        _rename(table, column, path, after, before)


def _rename(table: str, column: str, path: tuple[str, ...], old: str, new: str) -> None:
    """Rename one key of the JSON object at `path`, where the object has the key."""
    place = "{" + ",".join(path) + "}"
    holder = f"{column} #> '{place}'"
    renamed = f"({holder}) - '{old}' || jsonb_build_object('{new}', {holder} -> '{old}')"
    value = f"jsonb_set({column}, '{place}', {renamed})" if path else renamed
    op.execute(f"UPDATE {table} SET {column} = {value} WHERE {holder} ? '{old}'")
