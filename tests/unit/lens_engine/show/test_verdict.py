"""What to use first, what to expect of it, and what is said beside: from the result alone."""

from typing import Any

import pytest

from lens_engine.classifier.quality import Accuracy
from lens_engine.result import Chance, Estimate, SelectionResult
from lens_engine.result.headline import kind_of, list_headlines
from lens_engine.show.verdict import USE_NOTHING, say_prompt, say_rest, say_verdict
from lens_engine.types import HeadlineKind, StopReason
from tests.answered import make_answers
from tests.unit.lens_cli.results import CONTENDERS, ESTIMATE, TESTED, make_answer, make_contender, make_result

FEW = ESTIMATE.model_copy(update={"n": 24, "ci95": (0.69, 0.96), "more_rows": None})
WORDS = make_contender("word counting", "bag_of_words", None, tokens=0.0)


def make_untested(first: HeadlineKind = "classifier", **changes: Any) -> SelectionResult:
    """A result without test rows."""
    contenders = tuple(one.model_copy(update={"test": None}) for one in CONTENDERS)
    answers = (make_answer("prompt", test=None), make_answer("probabilities", test=None))
    tested = tuple(one.model_copy(update={"test": None}) for one in TESTED)
    values = {"contenders": contenders, "support_examples": answers, "tested": tested, "answers": make_answers()}
    return make_result(first=first, **(values | changes))


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (make_result(), "Use the classifier: it is right for 181 of 200 test texts (91 %). Counting words may be"),
        (
            make_untested(),
            "Use the classifier: expect 80 to 93 of 100 new texts right (88 %; from 100 rows, each judged by a "
            "classifier that had not seen it). Counting words may be as good: 41 of 100 samples of the rows say so. "
            "50 more labelled rows would be worth about 2 points.",
        ),
        (
            make_untested("prompt"),
            "Use the prompt: expect 80 to 93 of 100 new texts right (88 %; from 100 rows, each judged by a prompt that "
            "does not show it).",
        ),
        (
            make_untested("words"),
            "You do not need a language model here. Use word counting: expect 74 to 85 of 100 new texts right (80 %; "
            "from 200 rows, each judged by the words of the others).",
        ),
        (make_untested("words", contenders=(WORDS,)), "Use word counting: expect 84 to 95 of 100 new texts right"),
        (make_untested(classifier_estimate=FEW), "With 24 rows this is a rough figure: it may be 14 points off."),
        (make_untested("prompt", support_examples=(make_answer("prompt", test=None, estimate=None),)), "Nothing was"),
        (make_untested(tested=()), "No classifier was made."),
        (make_untested(stop_reason=StopReason.BUDGET), "Partial: a limit was reached; a larger one may find better"),
    ],
    ids=["tested", "classifier", "prompt", "words", "words alone", "few", "unjudged", "no classifier", "partial"],
)
def test_verdict_says_what_to_expect(result: SelectionResult, said: str) -> None:
    assert said in say_verdict(result)


@pytest.mark.parametrize(
    ("more_rows", "said"),
    [(0.018, "be worth about 2 points"), (0.01, "be worth about 1 point."), (-0.004, "hardly change this"), (None, "")],
)
def test_worth_of_more_rows_is_said_where_it_is_known(more_rows: float | None, said: str) -> None:
    verdict = say_verdict(make_untested(classifier_estimate=ESTIMATE.model_copy(update={"more_rows": more_rows})))
    assert said in verdict
    assert ("50 more labelled rows" in verdict) == (more_rows is not None)


def test_word_counting_that_is_surely_worse_is_not_said_to_be_as_good() -> None:
    sure = ESTIMATE.model_copy(update={"beats": (Chance(rival="words", chance=0.98),)})
    verdict = say_verdict(make_untested(classifier_estimate=sure))
    assert "The classifier is better than counting words in 98 of 100 samples of the rows." in verdict
    assert "as good" not in verdict
    assert "language model" not in verdict


def test_nothing_that_is_below_the_most_frequent_label_is_recommended() -> None:
    low = Estimate.model_validate(ESTIMATE.model_dump() | {"largest_class": 0.9})
    assert say_verdict(make_untested(classifier_estimate=low)).startswith(
        f"{USE_NOTHING}: the classifier is right for about 88 % (80–93) of new texts; always the most frequent label: "
        "90 %."
    )


def test_macro_f1_is_said_where_it_decides() -> None:
    facts = make_result().provenance.model_copy(update={"config": {"objective": "macro_f1"}})
    assert "(88 %, macro-F1 0.87; from 100 rows" in say_verdict(make_untested(provenance=facts))
    assert "test texts (91 %), macro-F1 0.90." in say_verdict(make_result(provenance=facts))


def test_rest_says_how_often_each_other_way_is_right() -> None:
    assert list(say_rest(make_untested())) == [
        "Of 100 samples of the rows, the classifier beats no examples in 97, and random examples in 81.",
        "The prompt is right for about 88 % (80–93) of new texts. With no examples: 91 of 100 (91 %); with random "
        "examples: 91 % in the mean.",
        "Where the model gives probabilities, they can be corrected: then the prompt is right for about 88 % (80–93) "
        "of new texts.",
        "Word counting is right for about 80 % (74–85) of new texts.",
    ]
    first, *_ = list(say_rest(make_untested("words")))
    assert first.startswith("The prompt is right for")


def test_prompt_is_compared_on_the_rows_of_its_own_figure() -> None:
    assert say_prompt(make_result(), make_answer("prompt")) == (
        "The prompt is right for 181 of 200 test texts (91 %). With random examples: 160 of 200 (80 %)."
    )
    unwanted = say_prompt(make_result(contenders=()), make_answer("prompt", recommended=False), is_first=True)
    assert unwanted == (
        "Do not use the prompt where something better can be used: it is right for 181 of 200 test texts (91 %)."
    )
    assert say_prompt(make_result(), make_answer("prompt", test=None, estimate=None)) == "The prompt was not judged."


@pytest.mark.parametrize(
    ("result", "kinds", "figures"),
    [
        (make_result(), ["classifier", "prompt", "words"], [0.905, 0.905, 0.86]),
        (make_untested("prompt"), ["prompt", "classifier", "words"], [0.88, 0.88, 0.8]),
        (make_untested("words"), ["words", "classifier", "prompt"], [0.8, 0.88, 0.88]),
        (make_untested(tested=(), contenders=()), ["prompt"], [0.88]),
    ],
)
def test_headlines_have_the_first_choice_first(result: SelectionResult, kinds: list[str], figures: list[float]) -> None:
    found = list_headlines(result)
    assert [one.kind for one in found] == kinds
    assert [one.expected.accuracy for one in found] == figures
    assert set(found[0].model_dump()["expected"]) == set(Accuracy.model_fields), "a list reads them of each"


def test_contender_is_a_prompt_word_counting_or_another_classifier() -> None:
    assert [kind_of(one) for one in CONTENDERS[::5]] == ["classifier", "words"]
    assert kind_of(CONTENDERS[1]) == "prompt"
