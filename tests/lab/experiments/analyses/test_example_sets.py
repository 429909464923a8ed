from collections import Counter
from collections.abc import Callable

from experiments.analyses.example_sets import draw_random_sets, evaluate_sets, relabel, reorder, support_set
from experiments.laboratory.cells import Bench, Demonstration
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import SelectionConfig

Make = Callable[..., SelectionConfig]
FOUR = tuple(Demonstration(text=f"reviews {row}", label="positive") for row in range(4))


def test_support_set_is_the_chosen_permutation(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    result = laboratory.select(bench.selection(make_tiny()))

    assert [(one.text, one.label) for one in support_set(result)] == [(one.text, one.label) for one in result.examples]


def test_random_sets_are_those_of_the_report(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    cell = bench.selection(make_tiny(comparisons="usual"))
    spread = laboratory.select(cell).random
    assert spread is not None

    sets = draw_random_sets(laboratory, cell, spread.permutations)
    accuracies = [one.accuracy for one in evaluate_sets(laboratory, cell, sets, "random")]

    assert (min(accuracies), max(accuracies)) == (spread.min, spread.max)


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
