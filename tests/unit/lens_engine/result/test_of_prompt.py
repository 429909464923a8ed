"""The prompt of a result as a classifier: it says what the run measured."""

from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.classifier.heads import ArgmaxHead
from lens_engine.config import SelectionConfig, Use
from lens_engine.prompt.record import TaskRecord
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from tests.unit.lens_cli.results import CLASSIFIER, make_answer, make_result

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def result(problem: Problem, make_planted_scorer: Make, make_config: Callable[..., SelectionConfig]) -> SelectionResult:
    config = make_config(search={"iterations": 1}, classifier={"kind": "auto"})
    return select_support_examples(problem, make_planted_scorer(), config)


@pytest.mark.parametrize("use", ["prompt", "probabilities"])
def test_prompt_is_right_as_often_as_the_run_measured(
    use: Use, result: SelectionResult, problem: Problem, make_planted_scorer: Make
) -> None:
    """The quality on all rows depends on the prompt and head alone, so equal log-probabilities are enough."""
    scorer, answer = make_planted_scorer(), result.answer_for(use)
    classifier = classifier_of_prompt(result, use)
    texts = [example.text for example in problem.examples[:20]]
    task = problem.task
    log_probs = scorer.score(
        [classifier.prompts[0].demonstrations], list(map(task.render_query, texts)), task.label_spans
    )
    biases = {one.label: one.bias for one in answer.label_biases} if use == "probabilities" else {}
    expected = [
        [value + biases.get(label, 0.0) for value, label in zip(row, task.labels, strict=True)] for row in log_probs[0]
    ]
    predicted = classifier.predict(texts, scorer)
    assert list(predicted.labels) == [task.labels[row.index(max(row))] for row in expected]
    assert classifier.prompts[0].text == answer.prompt
    assert classifier.prompts[0].rows == answer.rows
    assert classifier.quality == (answer.test or answer.judged)
    assert classifier.tokens_held == sum(scorer.count_tokens(classifier.prompts[0].demonstrations))
    assert classifier.head.kind == ("prior" if answer.label_biases else "argmax")


def test_prompt_without_demonstrations_or_biases_is_argmax() -> None:
    empty = make_answer("probabilities", examples=(), prompt="", label_biases=())
    result = make_result(task=CLASSIFIER.task, support_examples=(empty,), tested=())
    classifier = classifier_of_prompt(result)
    assert classifier.head == ArgmaxHead()
    assert (classifier.prompts[0].text, classifier.tokens_per_input, classifier.fit_rows) == ("", 0, 0)
    assert classifier.model is not None
    assert classifier.model.revision == result.provenance.revision


def test_biases_are_in_the_order_of_the_labels() -> None:
    words = tuple(reversed(CLASSIFIER.task.label_words))
    task = TaskRecord(template=CLASSIFIER.task.template, label_words=words, separator="\n")
    head = classifier_of_prompt(make_result(task=task), "probabilities").head
    assert head.kind == "prior"
    assert head.biases == ((-0.3, 0.3),)
