"""What to use first, what to expect of it, and what is said beside: from the result alone."""

from typing import Any

import pytest

from lens_engine.classifier.quality import Accuracy
from lens_engine.prompt.pool import PromptForm
from lens_engine.prompt.record import LabelWord, TaskRecord
from lens_engine.result import Chance, Estimate, SelectionResult, SupportExamples
from lens_engine.result.selection_result import list_headlines
from lens_engine.show.verdict import USE_NOTHING, say_decision, say_prompt, say_rest, say_verdict
from lens_engine.types import HeadlineKind, StopReason
from tests.answered import make_answers
from tests.unit.lens_cli.results import (
    CONTENDERS,
    ESTIMATE,
    QUALITY,
    TESTED,
    make_answer,
    make_contender,
    make_result,
    make_tested,
)

FEW = ESTIMATE.model_copy(update={"n": 24, "ci95": (0.69, 0.96), "more_rows": None})
WORDS = make_contender("word counting", "bag_of_words", None, tokens=0.0)


def make_untested(first: HeadlineKind = "classifier", **changes: Any) -> SelectionResult:
    """A result without test rows."""
    contenders = tuple(one.model_copy(update={"test": None}) for one in CONTENDERS)
    answers = (make_answer("prompt", test=None), make_answer("probabilities", test=None))
    tested = tuple(one.model_copy(update={"test": None}) for one in TESTED)
    values = {"contenders": contenders, "support_examples": answers, "tested": tested, "answers": make_answers()}
    return make_result(first=first, **(values | changes))


def make_confused(*wrong: int, rare: int = 4) -> SelectionResult:
    """A tested result that gets the last rows of each label wrong, and all but two of a rare label."""
    gold = [label for label, number in enumerate((rare, *[20] * len(wrong))) for _ in range(number)]
    answers = (
        [0, 0]
        + [1] * (rare - 2)
        + [0 if place >= 20 - number else label + 1 for label, number in enumerate(wrong) for place in range(20)]
    )
    labels = tuple(LabelWord(label=one, word=one) for one in ("rare", "good", "mixed", "bad", "fair")[: len(wrong) + 1])
    found = make_answers(is_test=True, rows=range(len(gold)), gold=gold, classifier=answers)
    return make_result(answers=found, task=TaskRecord(template="{text} {label}", label_words=labels, separator=""))


AS_GOOD = "Counting words may be as good."
FEWER_WORDS = "Counting words gets 80 of 100 right, the classifier 91."
OF_PROMPT = "Counting words and random examples may be as good."
SURE = ESTIMATE.model_copy(update={"beats": (Chance(rival="words", chance=0.98),)})
LOW = Estimate.model_validate(ESTIMATE.model_dump() | {"largest_class": 0.9})
BY_F1 = make_result().provenance.model_copy(update={"config": {"objective": "macro_f1"}})
TESTED_WORDS = tuple(one.model_copy(update={"test": QUALITY}) for one in TESTED)
WORSE = QUALITY.model_copy(update={"accuracy": 0.8})
WORSE_WORDS = tuple(one.model_copy(update={"test": QUALITY if one.is_chosen else WORSE}) for one in TESTED)
ASKED = tuple(one.model_copy(update={"test": QUALITY}) for one in make_result().contenders)
EMBEDDED = make_tested("embeddings", "embeddings", 0, demonstrations=0, test=QUALITY)
FAR = EMBEDDED.model_copy(update={"test": WORSE.model_copy(update={"accuracy": 0.7})})
LIKELY = ESTIMATE.model_copy(
    update={"beats": (Chance(rival="embeddings", chance=0.9), Chance(rival="words", chance=0.98))}
)
NO_MODEL = "Sentence embeddings may be as good, without a language model."
PLAIN = 2 * (make_answer("prompt", method="zero_shot", examples=(), test=QUALITY),)
PLAIN_FIRST = make_result(first="prompt", support_examples=PLAIN, contenders=ASKED)
EXPECT = "Use the classifier. Expect 80 to 93 of 100 new texts right (judged by 100 rows)."
RIGHT = "Use the classifier. Expect 86 to 94 of 100 new texts right (181 of 200 test texts)."


def make_formed(rows: int, **form: Any) -> SelectionResult:
    answer = make_answer("prompt", form=PromptForm(**form), examples=make_answer("prompt").examples[:rows], test=None)
    return make_untested("prompt", support_examples=(answer, answer))


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (make_result(), f"{RIGHT} {AS_GOOD}"),
        (make_untested(), f"{EXPECT} {AS_GOOD}"),
        (make_formed(1), f"{EXPECT.replace('the classifier', 'the prompt (1 fixed example)')} {OF_PROMPT}"),
        (make_formed(0), f"{EXPECT.replace('the classifier', 'the prompt (no examples)')} {OF_PROMPT}"),
        (
            make_formed(0, kind="nearest", nearest=8),
            f"{EXPECT.replace('the classifier', 'the prompt (8 similar examples)')} {OF_PROMPT}",
        ),
        (
            make_formed(1, kind="fixed+nearest", nearest=4),
            f"{EXPECT.replace('the classifier', 'the prompt (1 fixed and 4 similar examples)')} {OF_PROMPT}",
        ),
        (
            make_untested("words"),
            "Count words; you need no language model. Expect 74 to 85 of 100 new texts right (judged by 200 rows). The "
            "prompt gets 88 of 100 right, counting words 80.",
        ),
        (
            make_untested("words", contenders=(WORDS, CONTENDERS[1])),
            "Count words; no classifier that reads the model was compared. Expect 84 to 95 of 100 new texts right "
            "(judged by 100 rows). The prompt gets 88 of 100 right, counting words 91.",
        ),
        (
            make_untested(classifier_estimate=FEW),
            f"Use the classifier. Expect 69 to 96 of 100 new texts right (roughly; judged by 24 rows). {AS_GOOD}",
        ),
        (make_result(provenance=BY_F1), f"{RIGHT[:-2]}, macro-F1 0.90). {AS_GOOD}"),
        (make_untested(classifier_estimate=SURE), f"{EXPECT} Counting words gets 80 of 100 right, the classifier 88."),
        (make_result(classifier_estimate=SURE, tested=TESTED_WORDS), f"{RIGHT} Counting words may be as good."),
        (PLAIN_FIRST, f"{RIGHT.replace('the classifier', 'the prompt (no examples)')} {OF_PROMPT}"),
        # the test texts decide over the samples of the rows, of which 7 of 100 say otherwise
        (make_result(tested=WORSE_WORDS), f"{RIGHT} {FEWER_WORDS}"),
        (make_untested(classifier_estimate=LIKELY), f"{EXPECT} {NO_MODEL}"),
        (make_result(tested=(*WORSE_WORDS, EMBEDDED)), f"{RIGHT} {NO_MODEL}"),
        (make_result(tested=(*WORSE_WORDS, FAR)), f"{RIGHT} {FEWER_WORDS}"),
        (
            make_result(tested=(TESTED[0], EMBEDDED.model_copy(update={"is_chosen": True}))),
            f"{RIGHT.replace('classifier', 'classifier of sentence embeddings; you need no language model')} {AS_GOOD}",
        ),
        (
            make_untested(classifier_estimate=LOW),
            f"{USE_NOTHING}. The classifier is right for about 88 % (80–93) of new texts. Always the most frequent "
            "label: 90 %.",
        ),
        (
            make_untested("prompt", support_examples=(make_answer("prompt", test=None, estimate=None),)),
            "Nothing was judged.",
        ),
        (make_confused(0, 9), f"{RIGHT} {AS_GOOD} Weak on “mixed” (11 of 20 right)."),
        (make_confused(9, 0, 12, 0), f"{RIGHT} {AS_GOOD} Weak on “bad” (8 of 20 right) and “good” (11 of 20 right)."),
        (make_confused(5, 5, 5), f"{RIGHT} {AS_GOOD}"),
        (make_confused(0, 2), f"{RIGHT} {AS_GOOD}"),
        (make_confused(0, 2, rare=9), f"{RIGHT} {AS_GOOD} Weak on “rare” (2 of 9 right)."),
        (make_confused(0, 2, rare=4), f"{RIGHT} {AS_GOOD}"),
        (make_confused(0, 2, rare=10), f"{RIGHT} {AS_GOOD} Weak on “rare” (2 of 10 right)."),
    ],
)
def test_decision_is_said_in_short_sentences(result: SelectionResult, told: str) -> None:
    found = say_decision(result)
    assert " ".join(filter(None, found)) == told
    assert all(len(one.split()) <= 16 for part in found for one in part.split(". "))
    assert say_verdict(result).startswith(told)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"classifier_estimate": ESTIMATE.model_copy(update={"more_rows": 0.02})},
            f"{AS_GOOD} 50 more labelled rows may be worth about 2 points.",
        ),
        ({"classifier_estimate": ESTIMATE.model_copy(update={"more_rows": 0.019})}, AS_GOOD),
        ({"classifier_estimate": ESTIMATE.model_copy(update={"more_rows": -0.004})}, AS_GOOD),
        ({"classifier_estimate": FEW}, "judged by 24 rows). Counting words may be as good."),
        ({"tested": ()}, "No classifier was made."),
        ({"stop_reason": StopReason.BUDGET}, "Partial: a limit was reached; a larger one may find better examples."),
    ],
)
def test_verdict_ends_with_what_more_rows_and_a_longer_run_would_do(changes: dict[str, Any], said: str) -> None:
    assert say_verdict(make_untested(**changes)).endswith(said)


def test_rest_says_how_often_everything_else_is_right() -> None:
    told = "Right of 100: no examples 91*, random examples 91*, 1 fixed example 88, counting words 80*."
    assert list(say_rest(make_untested())) == [told, "* on the rows that judged it, not corrected for choosing."]
    words = make_untested("words", classifier_estimate=None, contenders=(*CONTENDERS[5:6], *CONTENDERS[:5]))
    told, _ = say_rest(words)
    assert told.endswith(", classifier of the model 80*."), "as it was judged"
    told, _ = say_rest(make_untested(classifier_estimate=LOW))
    assert told.endswith(", 1 fixed example 88, counting words 80*, always the most frequent label 90.")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (make_answer("prompt"), "The prompt is right for 181 of 200 test texts (91 %)."),
        (
            make_answer("probabilities", recommended=False, test=None),
            "The prompt is right for about 88 % (80–93) of new texts. Something better than the prompt can be used.",
        ),
        (make_answer("prompt", test=None, estimate=None), "The prompt was not judged."),
    ],
)
def test_prompt_is_compared_on_the_rows_of_its_own_figure(answer: SupportExamples, said: str) -> None:
    assert say_prompt(make_result(), answer) == said


@pytest.mark.parametrize(
    ("result", "kinds", "figures"),
    [
        (make_result(), ["classifier", "prompt", "words"], [0.905, 0.905, 0.86]),
        (make_untested("prompt"), ["prompt", "classifier", "words"], [0.88, 0.88, 0.8]),
        (make_result(tested=make_untested().tested), ["classifier", "prompt", "words"], [0.88, 0.88, 0.8]),
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
    assert [one.headline for one in CONTENDERS[::5]] == ["classifier", "words"]
    assert CONTENDERS[1].headline == "prompt"
