import re
from collections import Counter
from collections.abc import Callable

import pytest

from lab.experiments.laboratory.cells import Bench
from lab.experiments.laboratory.laboratory import Laboratory
from lab.experiments.table.example_sets import draw_random_sets, support_set
from lens_engine.config import SelectionConfig
from lens_engine.scoring.base import Prefix
from lens_engine.search.judgement import EvaluationRows
from lens_engine.testing import TableScorer
from tests.lab.experiments.experiment_doubles import TableModels

Make = Callable[..., SelectionConfig]


@pytest.mark.parametrize("is_best", [True, False])
def test_support_set_is_the_permutation_of_the_method(
    bench: Bench, make_tiny: Make, make_laboratory: Callable[..., Laboratory], is_best: bool
) -> None:
    def log_prob(prefix: Prefix, query: str, span: str) -> float:
        """Even rows are "great". The model is right after demonstrations, or without them."""
        numbers = re.findall(r"\d+", query)  # none in the content-free input
        is_gold = (int(numbers[-1]) % 2 == 0) == ("great" in span) if numbers else True
        return -0.5 if is_gold == (bool(prefix) == is_best) else -1.0

    laboratory = make_laboratory(TableModels(lambda name: TableScorer(log_prob, name=name)))
    cell = bench.selection(make_tiny())
    result = laboratory.select(cell)
    assert result.answer.method == ("lens" if is_best else "zero_shot")

    examples = laboratory.problem(cell).examples
    expected = [examples[row] for row in result.answer.contenders[0].rows]
    assert len(expected) == 4
    found = support_set(laboratory, cell, result)
    assert [(one.text, one.label) for one in found] == [(one.text, one.label) for one in expected]


def test_random_sets_are_those_of_the_report(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    cell = bench.selection(make_tiny(comparisons="usual"))
    spread, task = laboratory.select(cell).random, laboratory.problem(cell).task
    assert spread is not None
    rows = EvaluationRows(task, laboratory.rows(cell).validation)

    sets = draw_random_sets(laboratory, cell, spread.permutations)
    prefixes = [task.render_prefix([one.as_example() for one in demonstrations]) for demonstrations in sets]
    scores = laboratory.scorer(cell).score(prefixes, rows.queries, task.label_spans)
    accuracies = (scores.argmax(axis=2) == rows.gold).mean(axis=1)

    assert (accuracies.min(), accuracies.max(), accuracies.mean()) == (spread.min, spread.max, spread.mean)


def test_random_sets_are_label_balanced_candidates(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    cell = bench.selection(make_tiny())
    candidates = {one.text for one in laboratory.rows(cell).candidates}

    first, second = draw_random_sets(laboratory, cell, 2)

    assert first != second
    for one in (first, second):
        assert Counter(demonstration.label for demonstration in one) == {"positive": 2, "negative": 2}
        assert {demonstration.text for demonstration in one} <= candidates
