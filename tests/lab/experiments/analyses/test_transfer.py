from collections.abc import Callable
from typing import cast

import pytest

from experiments.analyses.example_sets import RANDOM, SUPPORT
from experiments.analyses.transfer import Transfer
from experiments.laboratory.cells import Bench
from experiments.laboratory.laboratory import Laboratory
from lens_engine.config import SelectionConfig
from lens_engine.scoring.base import LabelScorer, Prefix
from tests.lab.experiments.analyses.analysis_tables import is_helpful, right_by_helpful, scorer_that_is
from tests.lab.experiments.experiment_doubles import TableModels

Make = Callable[..., SelectionConfig]
MakeLaboratory = Callable[..., Laboratory]


def right_by_unhelpful(prefix: Prefix, number: int) -> bool:
    return number // 2 % 5 <= sum(not is_helpful(one) for one in prefix)


def make_scorer(reference: str) -> LabelScorer:
    return scorer_that_is(right_by_unhelpful if "contrary" in reference else right_by_helpful, reference)


@pytest.fixture
def plan(bench: Bench, make_tiny: Make) -> Transfer:
    config = make_tiny(search={"beam_width": 4, "iterations": 4, "children": 4})
    return Transfer((bench.selection(config),), ("models/like-minded", "models/contrary"), random_sets=3)


def test_support_examples_serve_a_like_minded_model_and_not_a_contrary_one(
    plan: Transfer, make_laboratory: MakeLaboratory
) -> None:
    finding = plan.run(make_laboratory(TableModels(make_scorer)))

    means = {(row[1], row[2]): cast(float, row[3]) for row in finding.tables[0].rows}
    assert means["table (found with it)", SUPPORT] == 1.0
    assert means["like-minded", SUPPORT] == 1.0
    assert means["contrary", SUPPORT] == pytest.approx(0.2, abs=0.1)
    assert means["contrary", SUPPORT] < means["contrary", RANDOM] < 1.0
    assert means["like-minded", RANDOM] == means["table (found with it)", RANDOM] < 1.0


def test_each_model_is_loaded_once_and_the_finder_first(plan: Transfer, make_laboratory: MakeLaboratory) -> None:
    models = TableModels(make_scorer)
    plan.run(make_laboratory(models))

    assert models.loaded == ["table", "models/like-minded", "models/contrary"]


def test_a_model_named_twice_is_judged_once(plan: Transfer, laboratory: Laboratory) -> None:
    finding = Transfer(plan.selections, ("table", "table"), random_sets=2).run(laboratory)

    assert [row[1:3] for row in finding.tables[0].rows] == [
        ("table (found with it)", SUPPORT),
        ("table (found with it)", RANDOM),
    ]
