from collections.abc import Callable
from typing import cast

import pytest

from experiments.analyses.pairs import DIFFERENT, SAME, Pair, Pairs, Single, choose_best
from experiments.laboratory.cells import Bench, Demonstration
from experiments.laboratory.laboratory import Laboratory
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import SelectionConfig
from tests.lab.experiments.analyses.analysis_tables import models_that_are, right_by_helpful, right_unless_alike

Make = Callable[..., SelectionConfig]
MakeLaboratory = Callable[..., Laboratory]


def single(row: int, accuracy: float) -> Single:
    figure = Accuracy(accuracy=accuracy, n=20, ci95=(0.0, 1.0))
    return Single(Demonstration(text=f"reviews {row}", label=("positive", "negative")[row % 2]), figure)


def test_two_that_are_good_alone_are_bad_together_where_labels_must_differ(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    laboratory = make_laboratory(models_that_are(right_unless_alike))

    finding = Pairs((bench.selection(make_tiny()),), singles=8, best=4, shown=2).run(laboratory)

    summary, examples = finding.tables
    rows = {row[0]: dict(zip(summary.columns, row, strict=True)) for row in summary.rows}
    assert rows["alone, all that were drawn"]["prompts"] == 8
    assert (rows["alone, the best"]["mean"], rows["alone, the best"]["prompts"]) == (1.0, 4)
    different, same = rows[f"together, {DIFFERENT}"], rows[f"together, {SAME}"]
    assert (different["mean"], different["prompts"], different["worse than both alone"]) == (1.0, 8, 0.0)
    assert (same["mean"], same["prompts"], same["worse than both alone"]) == (0.0, 4, 1.0)
    assert [row[0] for row in examples.rows] == [0.0, 0.0, 1.0, 1.0]
    for row in examples.rows:
        labels = {str(text).rpartition(" ")[2] for text in (row[2], row[4])}
        assert len(labels) == (1 if row[0] == 0.0 else 2)
        assert row[3] == row[5] == 1.0


def test_the_best_alone_are_put_together(bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory) -> None:
    laboratory = make_laboratory(models_that_are(right_by_helpful))

    finding = Pairs((bench.selection(make_tiny()),), singles=24, best=4).run(laboratory)

    summary = {row[0]: dict(zip(finding.tables[0].columns, row, strict=True)) for row in finding.tables[0].rows}
    best = cast(float, summary["alone, the best"]["least"])
    assert best == summary["alone, all that were drawn"]["most"]
    for kind in (SAME, DIFFERENT):
        assert cast(float, summary[f"together, {kind}"]["least"]) > best  # another helpful one adds a fifth


def test_best_are_taken_label_by_label_and_ties_go_to_the_earlier() -> None:
    singles = [single(0, 0.5), single(2, 0.9), single(4, 0.9), single(1, 0.3), single(3, 0.4), single(5, 0.4)]

    best = choose_best(singles, ("positive", "negative"), 4)

    assert [one.demonstration.text for one in best] == ["reviews 2", "reviews 4", "reviews 3", "reviews 5"]


def test_label_with_few_examples_gives_its_places_to_the_others() -> None:
    best = choose_best([single(0, 0.5), single(2, 0.6), single(4, 0.7), single(1, 0.1)], ("positive", "negative"), 3)

    assert [one.demonstration.text for one in best] == ["reviews 4", "reviews 2", "reviews 1"]


def test_pair_knows_what_its_two_are_worth_alone() -> None:
    pair = Pair(single(0, 0.6), single(1, 0.8), Accuracy(accuracy=0.5, n=20, ci95=(0.0, 1.0)))

    assert (pair.mean_alone, pair.worse_alone, pair.kind) == (pytest.approx(0.7), 0.6, DIFFERENT)
    assert Pair(single(0, 0.6), single(2, 0.8), pair.together).kind == SAME


def test_the_other_order_of_a_pair_is_its_own_turned_round(
    bench: Bench, make_tiny: Make, laboratory: Laboratory
) -> None:
    finding = Pairs((bench.selection(make_tiny()),), singles=4, best=3, shown=10).run(laboratory)

    rows = finding.tables[1].rows
    assert len(rows) == 6
    together = {(row[2], row[4]): (row[0], row[1]) for row in rows}
    assert all(together[second, first] == (turned, own) for (first, second), (own, turned) in together.items())
