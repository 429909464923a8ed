from collections.abc import Callable

import pytest

from experiments.analyses.example_sets import RANDOM, SUPPORT, relabel, support_set
from experiments.analyses.labels import DRAWN, GOLD, Labels
from experiments.laboratory.cells import Bench
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import SelectionConfig
from tests.lab.experiments.analyses.analysis_tables import models_that_are, right_by_helpful, right_by_labels

Make = Callable[..., SelectionConfig]
MakeLaboratory = Callable[..., Laboratory]


def test_wrong_labels_hurt_a_model_that_reads_them(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    laboratory, cell = make_laboratory(models_that_are(right_by_labels)), bench.selection(make_tiny())

    finding = Labels((cell,), random_sets=2, labellings=5).run(laboratory)

    means = {(row[1], row[2]): row[3] for row in finding.tables[0].rows}
    assert means[SUPPORT, GOLD] == means[RANDOM, GOLD] == 1.0
    gold = [one.label for one in support_set(laboratory, cell, laboratory.select(cell))]
    drawn = relabel(support_set(laboratory, cell, laboratory.select(cell)), ("positive", "negative"), bench.seed, 5)
    wrong = [sum(one.label != label for one, label in zip(labelled, gold, strict=True)) for labelled in drawn]
    assert means[SUPPORT, DRAWN] == pytest.approx(sum(count <= 1 for count in wrong) / 5)
    assert 0.0 < sum(count <= 1 for count in wrong) < 5


def test_labels_do_nothing_to_a_model_that_ignores_them(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    laboratory = make_laboratory(models_that_are(right_by_helpful))

    finding = Labels((bench.selection(make_tiny()),), random_sets=3, labellings=2).run(laboratory)

    means = {(row[1], row[2]): row[3] for row in finding.tables[0].rows}
    assert means[SUPPORT, DRAWN] == pytest.approx(means[SUPPORT, GOLD])
    assert means[RANDOM, DRAWN] == pytest.approx(means[RANDOM, GOLD])
