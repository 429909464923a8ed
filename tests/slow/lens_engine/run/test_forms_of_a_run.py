"""Forms of the prompt: contenders like others, judged by every row, and served as they were judged."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.errors import InvalidConfig
from lens_engine.evaluation.evaluation import PromptSubject
from lens_engine.model.base import Prefix
from lens_engine.presets import PRESETS, resolve_config
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example

Make = Callable[..., Any]
ALL = ["fixed", "nearest", "fixed+nearest"]
TASK = Task("{text} It was {label}.", {"odd": "odd", "even": "even"})
"""A text is odd or even by its topic; only a demonstration of the same topic tells."""


def copying(prefix: Prefix, query: str, span: str) -> float:
    """The model repeats the label word of the last demonstration with the topic of the query."""
    topic = query.split()[0]
    alike = [demonstration for demonstration in prefix if demonstration.split()[0] == topic]
    said = re.search(r"was (\w+)\.", alike[-1]) if alike else None
    return (-0.1 if said and said[1] == span.strip() else -4.0) + hashed_log_prob(prefix, query, span) / 100


def deaf(_: Prefix, query: str, span: str) -> float:
    """The model answers by the text alone."""
    return hashed_log_prob((), query, span)


def is_odd_by_topic() -> dict[str, bool]:
    topics = [first + second for first in "bcdfg" for second in "aeiouy"]
    odd = np.random.default_rng(0).permutation(len(topics)) % 2
    return dict(zip(topics, map(bool, odd), strict=True))


@pytest.fixture(scope="module")
def problem() -> Problem:
    is_odd, rows = is_odd_by_topic(), []
    topics = [*is_odd]
    for row in range(420):
        topic = topics[row % len(topics)]
        rows.append(Example(row, f"{topic} {topic} {spell(row)}", "odd" if is_odd[topic] else "even"))
    return Problem(TASK, rows)


def spell(number: int) -> str:
    """A word of its own for each number; words with digits count as one."""
    return "".join("qwertzuiop"[int(digit)] for digit in f"{number:03}")


@pytest.fixture(scope="module")
def select(make_config: Make, problem: Problem) -> Callable[..., SelectionResult]:
    def run(log_prob: Any = copying, *, forms: Any = ALL, store: Any = None, **options: Any) -> SelectionResult:
        config = make_config(**options, search={"forms": forms})
        return select_support_examples(problem, TableScorer(log_prob), config, checkpoints=store)

    return run


@pytest.fixture(scope="module")
def found(select: Make) -> SelectionResult:
    return select()


def test_form_that_leads_is_the_prompt_and_the_best_fixed_one_stands_beside(found: SelectionResult) -> None:
    for answer in found.support_examples:
        fixed = answer.fixed
        assert fixed is not None
        assert answer.expected is not None
        assert fixed.expected is not None
        assert answer.form.kind in ("nearest", "fixed+nearest")
        assert fixed.form.kind == "fixed"
        small = [one for one in found.contenders if one.method in ("lens", "random") and one.form.kind == "fixed"]
        assert answer.expected.accuracy > max(one.judged.accuracy for one in small if one.judged) + 0.2
    assert found.pool is not None


def test_plain_form_wins_where_no_other_leads(select: Make) -> None:
    result = select(deaf)

    assert result.answer.form.kind == "fixed"  # it is cheaper, and as good
    assert result.answer.fixed is None
    assert result.pool is None


def test_pool_has_every_labelled_row_and_none_finds_itself(found: SelectionResult, problem: Problem) -> None:
    assert found.pool is not None
    assert {row.row for row in found.pool.rows} == {one.row for one in problem.examples}
    text = problem.examples[0].text
    assert 0 not in {one.example.row for one in found.render(text).found}


def test_prompt_as_a_classifier_answers_judging_rows_as_reported(found: SelectionResult, problem: Problem) -> None:
    texts = [problem.examples[row].text for row in found.answers.rows]
    answer, said = found.answer, found.answers.support_examples[0]
    assert answer.label_biases == ()
    labels = classifier_of_prompt(found, answer.use).predict(texts, TableScorer(copying)).labels
    assert said is not None
    assert all(place is None or label == TASK.labels[place] for label, place in zip(labels, said, strict=True))


def test_fixed_form_is_right_as_often_as_it_was_judged(found: SelectionResult, problem: Problem) -> None:
    judging = found.answers.rows[: found.counts.judging]
    rows = [problem.examples[row] for row in judging if row not in found.answer.plain.rows]
    subject = PromptSubject.of_result(found, "prompt", is_fixed=True)
    assert subject.in_place_of is not None
    labels = subject.asked.predict([one.text for one in rows], TableScorer(copying)).labels
    judged = found.answer.plain.judged
    assert judged is not None
    assert judged.n == len(rows)
    assert judged.accuracy == np.mean([label == one.label for label, one in zip(labels, rows, strict=True)])


def test_result_with_a_pool_survives_json(found: SelectionResult) -> None:
    assert SelectionResult.model_validate_json(found.model_dump_json()) == found


def test_run_with_forms_resumes_with_the_same_digest(select: Make, make_store: Make, found: SelectionResult) -> None:
    store = make_store()
    select(store=store)
    for data in store.of_each_phase():
        assert select(store=make_store(data)).digest == found.digest


def test_options_name_the_forms() -> None:
    assert resolve_config("quick", {"search.forms": "fixed"}).search.forms == ("fixed",)
    assert PRESETS["quick"].search.forms == PRESETS["standard"].search.forms == tuple(ALL)
    assert PRESETS["paper"].search.forms == ("fixed",)
    with pytest.raises(InvalidConfig, match=r"search.forms: input should be 'fixed', 'nearest' or 'fixed"):
        resolve_config("quick", {"search.forms": ["closest"]})
