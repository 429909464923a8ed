"""What a run tells of its examples and answers agrees with its figures."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.classifier.quality import Quality
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.retrieval.form import PromptForm
from lens_engine.run.single_prompts import Contender, pick_best
from lens_engine.search.score import Score
from lens_engine.show.sentences import describe_choice


@pytest.fixture(scope="module")
def result(
    make_planted_problem: Callable[..., Any], make_planted_scorer: Callable[..., Any], make_config: Callable[..., Any]
) -> SelectionResult:
    return select_support_examples(
        make_planted_problem(), make_planted_scorer(), make_config(classifier={"kind": "bag_of_words"})
    )


def test_effects_by_label_have_the_info_score_as_their_mean(result: SelectionResult) -> None:
    shown = [example for answer in result.support_examples for example in answer.examples]
    known = [one for one in shown if one.info_score is not None]
    assert known
    for one in known:
        assert one.effects is not None
        rows = [effect.rows for effect in one.effects]
        assert sum(rows) == result.provenance.config["filtering"]["max_score_size"]
        assert np.average([effect.effect for effect in one.effects], weights=rows) == pytest.approx(one.info_score)
    assert all(one.effects is None for one in shown if one.info_score is None)


@pytest.mark.parametrize(
    ("right", "expected"), [((50, 50), 0), ((50, 51), 1), ((51, 50), 0), ((None, 50), 0), ((50, None), 0)]
)
def test_prompt_of_the_method_stays_unless_another_is_right_more_often(
    right: tuple[int | None, ...], expected: int
) -> None:
    scores = [None if number is None else Score(number, 100, margin=0.0) for number in right]
    found = [Contender(str(place), PromptForm(), (place,), None, score) for place, score in enumerate(scores)]
    assert pick_best(found) is found[expected]


def check(quality: Quality | None, gold: Any, answers: Any, probabilities: Any) -> None:
    assert quality is not None
    hits, shares = np.equal(gold, answers), np.array(probabilities)
    assert hits.mean() == quality.accuracy
    bins = np.minimum((shares * 10).astype(int), 9)
    gaps = [abs((shares[own] - hits[own]).sum()) for own in (bins == place for place in range(10))]
    assert sum(gaps) / len(hits) == pytest.approx(quality.ece, abs=1e-3)


def test_probabilities_of_the_answers_give_the_calibration_error(result: SelectionResult) -> None:
    told = result.test_answers
    assert told is not None
    for answer, answers, shares in zip(
        result.support_examples, told.support_examples, told.support_examples_probabilities, strict=True
    ):
        check(answer.test, told.gold, answers, shares)
    assert result.classifier is not None
    check(result.classifier.test, told.gold, told.classifier, told.classifier_probabilities)


def test_word_counting_is_not_compared_with_itself(result: SelectionResult) -> None:
    assert result.words is None
    assert "word counting alone" not in describe_choice(result)


def test_method_without_info_scores_tells_no_effects(
    make_planted_problem: Callable[..., Any], make_planted_scorer: Callable[..., Any], make_config: Callable[..., Any]
) -> None:
    found = select_support_examples(make_planted_problem(), make_planted_scorer(), make_config(method="random"))
    assert [one.effects for one in found.examples] == [None] * len(found.examples)
