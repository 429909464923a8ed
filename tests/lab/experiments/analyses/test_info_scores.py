"""InfoScores of all candidates, as a cell."""

from collections.abc import Callable

import pytest

from experiments.laboratory.cells import Bench
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import SelectionConfig
from lens_engine.scoring.base import Prefix
from lens_engine.testing import TableScorer
from tests.lab.experiments.experiment_doubles import TableModels

Make = Callable[..., SelectionConfig]
MakeLaboratory = Callable[..., Laboratory]


def helping(prefix: Prefix, query: str, span: str) -> float:
    """Demonstrations of a row that divides by four help; the gold label is in the row's number."""
    is_gold = (int(query.split()[1]) % 2 == 0) == (span == " great")
    helps = bool(prefix) and int(prefix[0].split()[1]) % 4 == 0
    return -0.5 if is_gold and helps else -1.0


def test_every_candidate_has_its_score(bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory) -> None:
    laboratory = make_laboratory(TableModels(lambda _: TableScorer(helping)))
    cell = bench.info_scores(make_tiny())

    scores = laboratory.info_scores(cell).scores

    rows = laboratory.rows(cell).candidates
    assert len(scores) == len(rows) == 24
    assert {row.row % 4 == 0 for row in rows} == {True, False}
    for row, score in zip(rows, scores, strict=True):
        assert (score > 0.1) if row.row % 4 == 0 else (score == pytest.approx(0.0))


def test_scores_are_those_that_a_selection_gives_its_support_examples(
    bench: Bench, make_tiny: Make, laboratory: Laboratory
) -> None:
    config = make_tiny(filtering={"keep": 24})
    cell = bench.info_scores(config)

    scores = dict(
        zip((one.row for one in laboratory.rows(cell).candidates), laboratory.info_scores(cell).scores, strict=True)
    )

    for example in laboratory.select(bench.selection(config)).examples:
        assert example.info_score == pytest.approx(scores[example.row])


def test_scores_are_computed_once(bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory) -> None:
    cell = bench.info_scores(make_tiny())
    first = make_laboratory().info_scores(cell)
    models = TableModels()

    assert make_laboratory(models).info_scores(cell) == first
    assert models.loaded == []
