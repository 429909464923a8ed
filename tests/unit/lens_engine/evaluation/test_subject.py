"""What is judged can be changed as production changes it, and nothing else."""

import numpy as np
import pytest

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import ArgmaxHead, LinearHead, PriorHead, StatesHead
from lens_engine.errors import InvalidConfig, ModelMismatch
from lens_engine.evaluation.subject import (
    Changes,
    PromptSubject,
    check_changes,
    digest_answer,
    digest_prompt,
    make_classifier,
    take_prompts,
)
from lens_engine.result import SupportExample
from lens_engine.result.of_prompt import classifier_of_prompt
from lens_engine.scoring.base import ScorerIdentity
from lens_engine.testing import TableScorer
from tests.unit.lens_cli.results import CLASSIFIER, make_answer, make_result

TEXTS = ["Sunny", "Rainy", "a day"]
PRIOR = CLASSIFIER.model_copy(update={"head": PriorHead(biases=((0.5, -0.5), (-9.0, 9.0)), temperature=2.0)})
LINEAR = CLASSIFIER.model_copy(
    update={
        "head": LinearHead(
            means=(0.0,) * 4, scales=(1.0,) * 4, weights=((1.0,) * 4,) * 2, intercepts=(0.0,) * 2, inverse_l2=1.0
        )
    }
)
STATES = CLASSIFIER.model_copy(
    update={
        "prompts": CLASSIFIER.prompts[:1],
        "head": StatesHead(layer=1, pooling="last", weights=((1.0,), (2.0,)), intercepts=(0.0, 0.0), inverse_l2=1.0),
    }
)


class OtherScorer(TableScorer):
    """Another model."""

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity("other", revision="1" * 64, dtype="float32", device="cpu", executor="plain")


def make_subject(number: int = 3, instruction: str = "") -> PromptSubject:
    """A prompt of this many examples."""
    task = CLASSIFIER.task.model_copy(update={"instruction": instruction})
    examples = tuple(
        SupportExample(
            position=place,
            row=10 + place,
            text=f"film {place}",
            label=("positive", "negative")[place % 2],
            label_word=("great", "terrible")[place % 2],
            info_score=None,
            tokens=5,
        )
        for place in range(number)
    )
    answer = make_answer("prompt", examples=examples)
    result = make_result(task=task, support_examples=(answer,))
    asked = classifier_of_prompt(result)
    return PromptSubject(answer=answer, asked=asked.model_copy(update={"model": CLASSIFIER.model}))


@pytest.mark.parametrize(
    ("classifier", "head"), [(CLASSIFIER, ArgmaxHead()), (PRIOR, PriorHead(biases=((0.5, -0.5),), temperature=2.0))]
)
def test_first_prompts_keep_their_own_biases(classifier: Classifier, head: ArgmaxHead | PriorHead) -> None:
    first = take_prompts(classifier, 1)
    alone = Classifier.model_validate(
        {**classifier.model_dump(), "prompts": classifier.prompts[:1], "head": head.model_dump()}
    )
    assert first == alone
    probabilities = first.predict(TEXTS, TableScorer()).probabilities
    np.testing.assert_array_equal(probabilities, alone.predict(TEXTS, TableScorer()).probabilities)


@pytest.mark.parametrize("classifier", [CLASSIFIER, PRIOR, LINEAR])
def test_all_prompts_are_the_classifier_itself(classifier: Classifier) -> None:
    assert take_prompts(classifier, 2) is classifier


@pytest.mark.parametrize(("classifier", "number"), [(CLASSIFIER, 3), (LINEAR, 1)])
def test_prompts_that_cannot_be_taken_are_refused(classifier: Classifier, number: int) -> None:
    with pytest.raises(InvalidConfig) as caught:
        check_changes(classifier, Changes(prompts=number))
    assert caught.value.field == "num_prompts"


def test_orders_are_others_and_the_same_for_a_seed() -> None:
    subject = make_subject()
    found = subject.reorder(4, seed=3)
    orders = [one.answer.rows for one in found]
    assert len(set(orders)) == 4
    assert (10, 11, 12) not in orders
    assert found == subject.reorder(4, seed=3)
    assert orders[:2] == [one.answer.rows for one in subject.reorder(2, seed=3)]
    for one in found:
        (prompt,) = one.asked.prompts
        assert prompt.rows == one.answer.rows
        assert [text.split()[1].rstrip(".") for text in prompt.demonstrations] == [
            str(row - 10) for row in one.answer.rows
        ]


def test_instruction_stays_before_the_examples_in_every_order() -> None:
    subject = make_subject(instruction="Is it good?")
    for one in subject.reorder(4, seed=3):
        (prompt,) = one.asked.prompts
        first, *others = prompt.demonstrations
        assert first == "Is it good?\n"
        assert [text.split()[1] for text in others] == [str(row - 10) for row in one.answer.rows]
        assert len(prompt.rows) == 3


@pytest.mark.parametrize(("number", "others"), [(0, 0), (1, 0), (2, 1), (3, 5)])
def test_few_examples_have_few_other_orders(number: int, others: int) -> None:
    assert len(make_subject(number).reorder(32, seed=0)) == others


def test_support_examples_are_one_prompt() -> None:
    with pytest.raises(InvalidConfig, match="one prompt"):
        check_changes(make_subject(), Changes(prompts=1))


def test_coefficients_of_states_are_of_one_model() -> None:
    check_changes(STATES, Changes())
    check_changes(CLASSIFIER, Changes(is_other_model=True))
    with pytest.raises(
        ModelMismatch, match="the classifier reads the model from within, and its coefficients are of table"
    ):
        check_changes(STATES, Changes(is_other_model=True))


def test_another_model_is_asked_if_it_may_be() -> None:
    other = OtherScorer()
    with pytest.raises(ModelMismatch):
        make_classifier(CLASSIFIER, Changes(), other)
    classifier = make_classifier(CLASSIFIER, Changes(is_other_model=True), other)
    assert classifier.model is not None
    assert classifier.model.model == "other"
    assert classifier.predict(TEXTS, other).labels


def test_equal_answers_have_equal_digests() -> None:
    subject = make_subject()
    assert digest_answer(subject) == digest_answer(make_subject())
    assert digest_answer(subject) == digest_prompt(subject.asked.task, subject.answer)
    other_prompt = subject.model_copy(update={"answer": subject.answer.model_copy(update={"prompt": "other"})})
    other_word = subject.asked.task.model_copy(update={"template": "{text}: {label}"})
    assert digest_answer(other_prompt) != digest_answer(subject)
    assert digest_prompt(other_word, subject.answer) != digest_answer(subject)
    instructed = subject.asked.task.model_copy(update={"instruction": "Is it good?"})
    assert digest_prompt(instructed, subject.answer) != digest_answer(subject)
    retested = subject.answer.model_copy(update={"with_biases": None, "judged": None})
    assert digest_prompt(subject.asked.task, retested) == digest_answer(subject)


def test_digest_of_a_classifier_is_of_what_it_asks() -> None:
    assert digest_answer(CLASSIFIER) == digest_answer(CLASSIFIER.model_copy(update={"fit_rows": 1, "test": None}))
    assert len({digest_answer(one) for one in (CLASSIFIER, PRIOR, LINEAR, take_prompts(CLASSIFIER, 1))}) == 4
