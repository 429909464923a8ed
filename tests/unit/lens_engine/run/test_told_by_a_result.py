"""What a run tells of its examples and answers agrees with its figures."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.classifier.quality import Quality
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def result(make_planted_problem: Make, make_planted_scorer: Make, make_config: Make) -> SelectionResult:
    problem, test = make_planted_problem(), make_planted_problem(60, seed=1).examples
    config = make_config(classifier={"kind": "bag_of_words"})
    return select_support_examples(Problem(problem.task, problem.examples, test), make_planted_scorer(), config)


def test_effects_by_label_have_the_info_score_as_their_mean(result: SelectionResult) -> None:
    shown = [example for answer in result.support_examples for example in answer.examples]
    known = [one for one in shown if one.info_score is not None]
    assert known
    for one in known:
        assert one.effects is not None
        rows = [effect.rows for effect in one.effects]
        assert sum(rows) in (15, 16)  # of the score set without the example itself
        assert np.average([effect.effect for effect in one.effects], weights=rows) == pytest.approx(one.info_score)
    assert all(one.effects is None for one in shown if one.info_score is None)


def check(quality: Quality | None, gold: Any, answers: Any, probabilities: Any) -> None:
    assert quality is not None
    hits, shares = np.equal(gold, answers), np.array(probabilities)
    assert hits.mean() == quality.accuracy
    bins = np.minimum((shares * 10).astype(int), 9)
    gaps = [abs((shares[own] - hits[own]).sum()) for own in (bins == place for place in range(10))]
    assert sum(gaps) / len(hits) == pytest.approx(quality.ece, abs=1e-3)


def test_probabilities_of_the_answers_give_the_calibration_error(result: SelectionResult) -> None:
    told = result.answers
    assert told.is_test
    for answer, answers, shares in zip(
        result.support_examples, told.support_examples, told.support_examples_probabilities, strict=True
    ):
        check(answer.test, told.gold, answers, shares)
    assert result.classifier is not None
    check(result.classifier.quality, told.gold, told.classifier, told.classifier_probabilities)


def test_few_rows_are_all_judged_and_tell_what_to_expect(
    make_planted_problem: Make, make_planted_scorer: Make, make_config: Make
) -> None:
    result = select_support_examples(make_planted_problem(40), make_planted_scorer(), make_config())

    answers = result.answers.support_examples[0]
    assert (result.counts.search, result.counts.judging, result.answers.is_test) == (0, 40, False)
    assert answers is not None
    assert {row for row, one in zip(result.answers.rows, answers, strict=True) if one is None} == set(result.rows)
    assert all(one.info_score is None and one.effects is None for one in result.examples)
    assert result.expected is not None
    assert len({one.name for one in result.contenders if one.use == "prompt"}) == 1 + 8
