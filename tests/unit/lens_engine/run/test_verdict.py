import re
from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.classifier.classifier import Classifier, LabelWord, ModelRecord, Prompt, TaskRecord
from lens_engine.classifier.heads import ArgmaxHead
from lens_engine.classifier.tested import Verdict
from lens_engine.run.state import Evaluation
from lens_engine.run.verdict import reach_verdict
from lens_engine.types import StopReason

ROWS = 100
CLASSIFIER = Classifier(
    task=TaskRecord(
        template="{text} {label}",
        label_words=(LabelWord(label="a", word="x"), LabelWord(label="b", word="y")),
        separator="\n",
    ),
    prompts=(Prompt(rows=(), demonstrations=()),),
    head=ArgmaxHead(),
    fit_rows=50,
    model=ModelRecord(model="table", revision="0", dtype="float32", device="cpu"),
    tokens_per_input=200.0,
)


def hit(*spans: tuple[int, int]) -> tuple[bool, ...]:
    """The rows of these spans are right."""
    return tuple(any(start <= row < end for start, end in spans) for row in range(ROWS))


def evaluate(**tested: Any) -> Evaluation:
    """Classifiers by name: right rows, or right rows and tokens an input."""
    evaluation, usual = Evaluation(), {"random_and_validation": 100.0, "bag_of_words": 0.0}
    for name, given in tested.items():
        correct, tokens = given if isinstance(given[0], tuple) else (given, usual[name])
        classifier = CLASSIFIER.model_copy(update={"tokens_per_input": tokens})
        evaluation = evaluation.with_classifier(name, classifier, correct)  # type: ignore[arg-type]
    return evaluation


Judge = Callable[..., Verdict]


@pytest.fixture(scope="module")
def judge() -> Judge:
    """The verdict on the ensemble (200 tokens an input) and rivals, by right rows; prompts with their tokens."""

    def judge(own: tuple[bool, ...], **rivals: Any) -> Verdict:
        verdict = reach_verdict(evaluate(ensemble=(own, 200.0), **rivals))
        assert verdict is not None
        return verdict

    return judge


def test_nothing_tested_gives_no_verdict() -> None:
    assert reach_verdict(Evaluation()) is None


@pytest.mark.parametrize(
    ("own", "rival", "ahead", "significant"),
    [
        (hit((0, 80)), hit((0, 60)), True, True),
        (hit((0, 80)), hit((0, 79)), True, False),
        (hit((0, 60)), hit((0, 80)), False, True),
        (hit((0, 79)), hit((0, 80)), False, False),
        (hit((0, 80)), hit((0, 80)), False, False),
        (hit((0, 60)), hit((20, 80)), False, False),  # as many right rows, but others
    ],
)
def test_ahead_and_significant_are_apart(
    own: tuple[bool, ...], rival: tuple[bool, ...], ahead: bool, significant: bool, judge: Judge
) -> None:
    verdict = judge(own, random_and_validation=rival)

    found = verdict.against("random_and_validation")
    assert found is not None
    assert (found.ensemble_is_ahead, found.is_significant) == (ahead, significant)


def test_rival_that_was_not_tested_has_no_comparison(judge: Judge) -> None:
    verdict = judge(hit((0, 80)), bag_of_words=hit((0, 60)))

    assert verdict.against("random_and_validation") is None
    assert [one.rival for one in verdict.comparisons] == ["bag_of_words"]


def test_each_rival_is_compared_on_the_rows_that_differ(judge: Judge) -> None:
    verdict = judge(hit((0, 80)), long_prompt=(hit((10, 85)), 300.0), bag_of_words=hit((0, 60)))

    found = {one.rival: (one.only_ensemble_right, one.only_rival_right) for one in verdict.comparisons}
    assert found == {"long_prompt": (10, 5), "bag_of_words": (20, 0)}


@pytest.mark.parametrize(
    ("own", "rivals", "use"),
    [
        pytest.param(80, {"zero_shot_head": ((0, 60), 20), "bag_of_words": ((0, 50), 0)}, "ensemble", id="clear lead"),
        pytest.param(
            80,
            {"random_prompts": ((1, 80), 150), "zero_shot_head": ((5, 84), 20), "bag_of_words": ((0, 60), 0)},
            "zero_shot_head",
            id="the cheapest within one standard error",
        ),
        # Both are four rows worse; only the second differs on enough rows for that to be noise.
        pytest.param(80, {"zero_shot_head": ((0, 76), 20)}, "ensemble", id="four rows that always differ"),
        pytest.param(80, {"zero_shot_head": ((20, 96), 20)}, "zero_shot_head", id="four rows within noise"),
        pytest.param(80, {"random_ensemble": ((0, 80), 150), "bag_of_words": ((0, 80), 0)}, "bag_of_words", id="words"),
        *(
            pytest.param(80, {"random_ensemble": ((0, 80), tokens)}, "ensemble", id=f"as good for {tokens} tokens")
            for tokens in (160, 199, 200, 400)
        ),
        pytest.param(80, {"random_ensemble": ((2, 83), 200)}, "ensemble", id="slightly better at the same price"),
        pytest.param(
            60,
            {"long_prompt": ((0, 90), 900), "random_prompts": ((0, 55), 50)},
            "long_prompt",
            id="clearly better at any price",
        ),
        pytest.param(80, {"random_and_validation": ((0, 80), 100)}, "random_and_validation", id="one prompt"),
    ],
)
def test_cheapest_within_one_standard_error_of_the_best_is_used(
    own: int, rivals: dict[str, tuple[tuple[int, int], float]], use: str
) -> None:
    given = {name: (hit(span), float(tokens)) for name, (span, tokens) in rivals.items()}

    verdict = reach_verdict(evaluate(ensemble=(hit((0, own)), 200.0), **given))

    assert verdict is not None
    assert verdict.use == use


def test_sentence_on_the_ensemble_holds_the_figures(judge: Judge) -> None:
    verdict = judge(hit((0, 80)), random_and_validation=hit((0, 60)), bag_of_words=hit((0, 50)))

    assert verdict.sentence == (
        "Use the ensemble: 0.800 on 100 test rows, for 200 tokens an input; random-and-validation has 0.600 "
        "(p = 1.9e-06); a bag of words has 0.500 (p = 1.9e-09)."
    )


def test_sentence_on_a_rival_names_both(judge: Judge) -> None:
    verdict = judge(hit((0, 80)), bag_of_words=hit((0, 90)))

    assert verdict.sentence == (
        "Use a bag of words: 0.900 on 100 test rows, without a language model; the ensemble has 0.800, "
        "for 200 tokens an input (p = 0.002)."
    )


@pytest.mark.parametrize("name", ["zero_shot_head", "random_ensemble", "random_prompts", "long_prompt"])
def test_sentence_names_what_to_use(name: str, judge: Judge) -> None:
    verdict = judge(hit((0, 50)), **{name: (hit((0, 90)), 1234.4)})

    assert verdict.use == name
    assert re.match(r"Use [a-z -]+: 0\.900 on 100 test rows, for 1,234 tokens an input; the ensemble", verdict.sentence)


@pytest.mark.parametrize(
    ("reason", "opening"),
    [(StopReason.BUDGET, "Partial: the budget ran out"), (StopReason.CANCELLED, "Partial: the run was stopped")],
)
def test_sentence_of_a_run_that_ended_early_opens_with_the_reason(reason: StopReason, opening: str) -> None:
    evaluation = evaluate(ensemble=(hit((0, 90)), 200.0), zero_shot=(hit((0, 50)), 100.0))

    whole, early = reach_verdict(evaluation), reach_verdict(evaluation, reason)

    assert whole is not None
    assert early is not None
    assert early.sentence == f"{opening}; these are the best examples found until then. {whole.sentence}"
