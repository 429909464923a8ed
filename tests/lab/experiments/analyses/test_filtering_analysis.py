from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from experiments.analyses.filtering import Filtering, least_and_most
from experiments.laboratory.cells import Bench
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import FilteringOptions, SelectionConfig
from lens_engine.methods.lens.filtering import Filter
from lens_engine.types import Example
from tests.lab.experiments.analyses.analysis_tables import models_that_are, right_by_helpful
from tests.lab.experiments.experiment_doubles import make_dataset

Make = Callable[..., SelectionConfig]
MakeLaboratory = Callable[..., Laboratory]


def test_informative_examples_are_told_from_the_others(
    bench: Bench, make_tiny: Make, make_laboratory: MakeLaboratory
) -> None:
    laboratory = make_laboratory(models_that_are(right_by_helpful))

    finding = Filtering((bench.selection(make_tiny()),), permutations=4, share=0.25).run(laboratory)

    rows = {str(row[1]): dict(zip(finding.tables[0].columns, row, strict=True)) for row in finding.tables[0].rows}
    assert list(rows) == ["least informative", "random", "most informative", "with search"]
    assert rows["least informative"]["mean"] == pytest.approx(0.2, abs=0.1)  # none is helpful
    assert rows["most informative"]["mean"] == rows["with search"]["mean"] == 1.0  # all are
    assert rows["least informative"]["most"] == rows["least informative"]["least"]
    assert 0.3 < cast(float, rows["random"]["mean"]) < 1.0
    assert [row["prompts"] for row in rows.values()] == [4, 4, 4, 1]


def test_pools_take_as_many_of_each_label_and_differ() -> None:
    dataset = make_dataset()
    candidates, task = dataset.train[:12], dataset.problem(dataset.templates[0]).task
    stage = Filter(task, candidates, dataset.test or (), FilteringOptions(), balanced=True)

    least, most = least_and_most(candidates, np.arange(12.0), stage, 4)

    assert [one.row for one in least] == [0, 1, 2, 3]
    assert [one.row for one in most] == [8, 9, 10, 11]


def test_pools_without_label_balance_follow_the_scores_alone() -> None:
    dataset = make_dataset()
    candidates, task = dataset.train[:8], dataset.problem(dataset.templates[0]).task
    scores = np.array([float(_is_positive(one)) for one in candidates])
    stage = Filter(task, candidates, dataset.test or (), FilteringOptions(), balanced=False)

    least, most = least_and_most(candidates, scores, stage, 4)

    assert not any(map(_is_positive, least))
    assert all(map(_is_positive, most))


def test_small_pools_still_fill_a_permutation(bench: Bench, make_tiny: Make, laboratory: Laboratory) -> None:
    plan = Filtering((bench.selection(make_tiny()),), permutations=2, share=0.01)

    assert len(plan.run(laboratory).tables[0].rows) == 4


def _is_positive(example: Example) -> bool:
    return example.label == "positive"
