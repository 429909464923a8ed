from collections import Counter
from collections.abc import Callable

import pytest

from experiments.analyses.example_sets import draw_random_sets, relabel, reorder, support_set
from experiments.laboratory.cells import Bench, Demonstration
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import SelectionConfig
from lens_engine.judging.judgement import EvaluationRows
from tests.lab.experiments.analyses.analysis_tables import models_that_are

Make = Callable[..., SelectionConfig]
FOUR = tuple(Demonstration(text=f"reviews {row}", label="positive") for row in range(4))


@pytest.mark.parametrize("is_best", [True, False])
def test_support_set_is_the_permutation_of_the_method(
    bench: Bench, make_tiny: Make, make_laboratory: Callable[..., Laboratory], is_best: bool
) -> None:
    laboratory = make_laboratory(models_that_are(lambda prefix, _: bool(prefix) == is_best))
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


def test_orders_keep_the_demonstrations() -> None:
    orders = reorder(FOUR, seed=1, count=5)

    assert all(sorted(one.text for one in order) == [one.text for one in FOUR] for order in orders)
    assert len(set(orders)) > 1
    assert reorder(FOUR, seed=1, count=2) == orders[:2]
    assert reorder(FOUR, seed=2, count=5) != orders


def test_random_labels_keep_texts_and_order_and_are_drawn_evenly() -> None:
    labels = ("positive", "neutral", "negative")
    drawn = relabel(FOUR, labels, seed=0, count=300)

    assert all([one.text for one in labelled] == [one.text for one in FOUR] for labelled in drawn)
    counts = Counter(one.label for labelled in drawn for one in labelled)
    assert all(330 < counts[label] < 470 for label in labels)


def test_sets_are_compared_under_the_same_drawn_labels() -> None:
    others = tuple(Demonstration(text=f"news {row}", label="negative") for row in range(4))
    labels = ("positive", "negative")

    ours, theirs = (relabel(one, labels, seed=5, count=3) for one in (FOUR, others))

    assert [[one.label for one in labelled] for labelled in ours] == [
        [one.label for one in labelled] for labelled in theirs
    ]
