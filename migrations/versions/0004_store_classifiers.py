"""Create the table classifiers, and give stored specs and results the form of a release with classifiers.

Revision: 0004, after 0003. A spec keeps its meaning: it searches by accuracy and makes no more than the paper's single
prompt. A result keeps its digest, which covers its form before.

The downgrade drops every classifier. What a spec or a result says about classifiers is lost.
"""

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ANSWERS = sa.table(
    "idempotency_keys", sa.column("owner_id", sa.String), sa.column("key", sa.String), sa.column("answer", sa.JSON)
)
_NEW_OPTIONS: dict[str, dict[str, Any]] = {
    "search": {"objective": "accuracy"},
    "classifier": {"max_prompts": 1, "head": "argmax", "fit_rows": 0},
    "report": {"random_ensemble": False, "random_prompts": False, "long_prompt": False, "bag_of_words": False},
}
"""New options by group, with the values that repeat what a release before did."""

_NEW_FIGURES = ("task", "prompt", "classifier", "recommended")
_NEW_BASELINES = ("zero_shot_head", "random_ensemble", "random_prompts", "long_prompt", "bag_of_words")

_WIDEN_VERDICTS = """
UPDATE reports SET result = jsonb_set(result, '{verdict}', jsonb_build_object(
    'use', CASE WHEN is_ahead THEN 'support_examples' ELSE 'random_and_validation' END,
    'sentence', format(
        'Use %s: %s test rows are right with the support examples only, and %s with random-and-validation only '
        '(p %s); the selection made no classifier.',
        CASE WHEN is_ahead THEN 'the support examples' ELSE 'random-and-validation' END, only_lens, only_rival,
        CASE WHEN p_value < 0.0001 THEN '< 0.0001' ELSE '= ' || trim_scale(round(p_value, 4)) END),
    'ahead', is_ahead,
    'significant', p_value < 0.05,
    'comparisons', jsonb_build_array(jsonb_build_object(
        'rival', 'random_and_validation', 'ahead', is_ahead, 'significant', p_value < 0.05,
        'only_classifier_right', only_lens, 'only_rival_right', only_rival, 'p_value', p_value)),
    'test', test))
FROM (
    SELECT selection_id AS id, (verdict ->> 'better_than_random_and_validation')::boolean AS is_ahead,
        (verdict ->> 'only_lens_right')::integer AS only_lens, (verdict ->> 'only_rival_right')::integer AS only_rival,
        (verdict ->> 'p_value')::numeric AS p_value, verdict -> 'test' AS test
    FROM (SELECT selection_id, result -> 'verdict' AS verdict FROM reports) AS stored
    WHERE verdict ? 'better_than_random_and_validation'
) AS before
WHERE selection_id = id
"""
"""The only classifier of such a result is its support examples, so the comparison is theirs."""

_NARROW_VERDICTS = """
UPDATE reports SET result = jsonb_set(result, '{verdict}', coalesce(
    (
        SELECT jsonb_build_object(
            'better_than_random_and_validation', comparison -> 'ahead',
            'only_lens_right', comparison -> 'only_classifier_right',
            'only_rival_right', comparison -> 'only_rival_right',
            'p_value', comparison -> 'p_value',
            'test', result -> 'verdict' -> 'test')
        FROM jsonb_array_elements(result -> 'verdict' -> 'comparisons') AS comparison
        WHERE comparison ->> 'rival' = 'random_and_validation'
    ),
    'null'))
WHERE result -> 'verdict' ? 'comparisons'
"""


def upgrade() -> None:
    op.create_table(
        "classifiers",
        sa.Column("selection_id", sa.String(length=40, collation="C"), nullable=False),
        sa.Column("classifier", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["selection_id"],
            ["selections.id"],
            name=op.f("fk_classifiers_selection_id_selections"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("selection_id", name=op.f("pk_classifiers")),
    )
    for group, options in _NEW_OPTIONS.items():
        place = f"'{{config,{group}}}'"
        grown = f"coalesce(spec #> {place}, '{{}}') || '{json.dumps(options)}'"
        op.execute(
            f"UPDATE selections SET spec = jsonb_set(spec, {place}, {grown}) WHERE spec_version = 2 AND spec ? 'config'"
        )
    op.execute("UPDATE selections SET spec_version = 3 WHERE spec_version = 2")
    _rewrite_answers(_add_options)
    op.execute(_WIDEN_VERDICTS)


def downgrade() -> None:
    op.execute(_NARROW_VERDICTS)
    op.execute(f"UPDATE reports SET result = result {_gone((), _NEW_FIGURES)} {_gone(('baselines',), _NEW_BASELINES)}")
    gone = " ".join(_gone(("config", group), tuple(options)) for group, options in _NEW_OPTIONS.items())
    op.execute(f"UPDATE selections SET spec = spec {gone} #- '{{config,classifier}}' WHERE spec_version = 3")
    op.execute(
        "UPDATE selections SET spec = jsonb_set(spec, '{config,filtering,contribution}', '\"label\"') "
        "WHERE spec_version = 3 AND spec #>> '{config,filtering,contribution}' = 'centred'"
    )
    op.execute("UPDATE selections SET spec_version = 2 WHERE spec_version = 3")
    _rewrite_answers(_drop_options)
    op.drop_table("classifiers")


def _rewrite_answers(change: Callable[[dict[str, Any]], None]) -> None:
    """Change the configuration in each stored answer. Row by row, because SQL would lose the order of the keys."""
    connection = op.get_bind()
    for owner_id, key, answer in connection.execute(sa.select(_ANSWERS)).all():
        change(answer["spec"]["config"])
        row = _ANSWERS.update().where(_ANSWERS.c.owner_id == owner_id, _ANSWERS.c.key == key)
        connection.execute(row.values(answer=answer))


def _add_options(config: dict[str, Any]) -> None:
    for group, options in _NEW_OPTIONS.items():
        config[group] = {**config.get(group, {}), **options}


def _drop_options(config: dict[str, Any]) -> None:
    for group, options in _NEW_OPTIONS.items():
        for option in options:
            config[group].pop(option, None)
    del config["classifier"]
    if config["filtering"]["contribution"] == "centred":
        config["filtering"]["contribution"] = "label"


def _gone(path: tuple[str, ...], names: tuple[str, ...]) -> str:
    """Operators that take the keys `names` out of the JSON object at `path`."""
    return " ".join(f"#- '{{{','.join((*path, name))}}}'" for name in names)
