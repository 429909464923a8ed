"""Keep the cells of a row as an array and probabilities as 32-bit floats; note what a job writes and what it paid.

Revision: 0008, after 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_PACK = """
CREATE FUNCTION pg_temp.pack(double precision[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(string_agg(float4send(CASE WHEN one.p < 1e-30 THEN 0 ELSE one.p END::float4), ''::bytea
                               ORDER BY one.place), ''::bytea)
    FROM unnest($1) WITH ORDINALITY AS one(p, place)
$$
"""
_LIST_CELLS = """
UPDATE examples SET cells = (
    SELECT json_agg(examples.cells::json -> one.name ORDER BY one.place)::text
    FROM selections, jsonb_array_elements_text(selections.spec -> 'columns') WITH ORDINALITY AS one(name, place)
    WHERE selections.dataset_id = examples.dataset_id AND selections.kind = 'prediction'
) WHERE cells IS NOT NULL
"""
_RESERVE = """
UPDATE selections SET reserved_bytes = octet_length(spec::text) + (
    SELECT coalesce(sum(200 + coalesce(octet_length(label), 0) + octet_length(probabilities)), 0)
    FROM predictions WHERE job_id = selections.id
)
"""
"""The jobs of the release before reserve what they have so far."""


def upgrade() -> None:
    op.alter_column("examples", "cells", type_=sa.Text(), postgresql_using="cells::text")
    op.execute(_LIST_CELLS)
    op.execute(_PACK)
    op.alter_column(
        "predictions", "probabilities", type_=sa.LargeBinary(), postgresql_using="pg_temp.pack(probabilities)"
    )
    # Last: from here on everything that reads a selection waits.
    for name, kind, none in (("reserved_bytes", sa.BigInteger(), "0"), ("paid_usd", sa.Double(), "0")):
        op.add_column("selections", sa.Column(name, kind, server_default=none, nullable=False))
    op.execute(_RESERVE)


def downgrade() -> None:
    """The answers so far go, and predictions with them: the release before would not read them."""
    op.execute("DELETE FROM selections WHERE kind = 'prediction'")
    op.execute("DELETE FROM predictions")
    op.execute("DELETE FROM datasets WHERE label_counts = '{}'::jsonb")
    op.alter_column(
        "predictions",
        "probabilities",
        type_=sa.ARRAY(sa.Double()),
        postgresql_using="ARRAY[]::double precision[]",
    )
    op.alter_column("examples", "cells", type_=sa.JSON(), postgresql_using="cells::json")
    op.drop_column("selections", "paid_usd")
    op.drop_column("selections", "reserved_bytes")
