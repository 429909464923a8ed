"""Forms of the prompt: judged on the same rows, taken only where they lead, and served as they were judged."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.config import USES
from lens_engine.errors import InvalidConfig
from lens_engine.evaluation.subject import PromptSubject, known_answers
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import PRESETS, resolve_config
from lens_engine.result import SelectionResult
from lens_engine.result.of_prompt import classifier_of_prompt
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import MemoryCheckpointStore
from lens_engine.run.preparation import prepare_run, price_run
from lens_engine.run.search_run import SearchRun
from lens_engine.scoring.base import Prefix
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example, Phase

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


def confused(prefix: Prefix, query: str, span: str) -> float:
    """The model knows the answer unless a demonstration has the topic of the query."""
    topic, is_odd = query.split()[0], is_odd_by_topic()[query.split()[0]]
    right = (span.strip() == "odd") == is_odd
    said_before = any(demonstration.split()[0] == topic for demonstration in prefix)
    return (-0.1 if right != said_before else -4.0) + hashed_log_prob(prefix, query, span) / 100


def tilted(prefix: Prefix, query: str, span: str) -> float:
    """The model knows the answer, but prefers one label where a demonstration has the topic of the query."""
    topic, is_odd = query.split()[0], is_odd_by_topic()[query.split()[0]]
    is_right = (span.strip() == "odd") == is_odd
    prefers_other = span.strip() == "even" and any(demonstration.split()[0] == topic for demonstration in prefix)
    return (-0.1 if is_right else -4.0) - 6.0 * prefers_other + hashed_log_prob(prefix, query, span) / 100


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
        config = make_config(**{"comparisons": "none", **options}, search={"forms": forms})
        return select_support_examples(problem, TableScorer(log_prob), config, checkpoints=store)

    return run


@pytest.fixture(scope="module")
def found(select: Callable[..., SelectionResult]) -> SelectionResult:
    return select()


def test_form_that_leads_is_the_prompt(found: SelectionResult) -> None:
    for answer in found.support_examples:
        fixed = answer.fixed
        assert fixed is not None
        assert answer.test is not None
        assert fixed.test is not None
        assert answer.form.kind in ("nearest", "fixed+nearest")
        assert answer.test.accuracy > fixed.test.accuracy + 0.2
        assert fixed.form.kind == "fixed"
        assert fixed.examples
    assert found.pool is not None


def test_halving_judges_every_form_and_one_on_every_row(found: SelectionResult) -> None:
    assert [(one.form.kind, one.form.nearest) for one in sorted(found.forms, key=lambda one: one.form.name)] == [
        ("fixed+nearest", 4),
        ("fixed+nearest", 8),
        ("nearest", 16),
        ("nearest", 4),
        ("nearest", 8),
    ]
    rows = [one.n for one in found.forms]
    assert rows[0] == found.splits.validation + found.splits.confirmation
    assert max(rows[1:]) < found.splits.validation
    assert all(one.form.kind != "fixed" for one in found.forms)


def test_plain_form_wins_where_no_other_leads(select: Callable[..., SelectionResult]) -> None:
    result = select(deaf)

    assert result.answer.form.kind == "fixed"
    assert result.answer.fixed is None
    assert result.pool is None
    assert len(result.forms) == 5


def test_form_that_trails_on_half_of_the_validation_rows_is_judged_no_further(
    select: Callable[..., SelectionResult],
) -> None:
    result = select(confused)

    assert result.answer.form.kind == "fixed"
    assert len(result.forms) == 5
    assert max(one.n for one in result.forms) == result.splits.validation // 2
    judged = select(confused, forms=["nearest"])  # nothing that it could trail is tried
    assert judged.forms[0].n == result.splits.validation + result.splits.confirmation


def test_form_that_trails_for_one_use_alone_is_judged_to_the_end(select: Callable[..., SelectionResult]) -> None:
    result = select(tilted)  # label biases take the preference off

    assert result.forms[0].accuracy < 0.6
    assert result.forms[0].n == result.splits.validation + result.splits.confirmation


def test_form_needs_no_lead_where_the_fixed_one_is_not_tried(select: Callable[..., SelectionResult]) -> None:
    assert select(deaf, forms=["nearest"]).answer.form.kind == "nearest"


def test_pool_has_no_row_that_judges(found: SelectionResult, problem: Problem) -> None:
    assert found.pool is not None
    pool = {row.row for row in found.pool.rows}
    assert not pool & set(found.test_answers.rows)
    assert len(pool) == len(problem.examples) - 20 - 16 - 60


def test_prompt_as_a_classifier_answers_the_test_rows_as_the_report_says(
    found: SelectionResult, problem: Problem
) -> None:
    texts = [problem.examples[row].text for row in found.test_answers.rows]
    for answer, said in zip(found.support_examples, found.test_answers.support_examples, strict=True):
        classifier = classifier_of_prompt(found, answer.use)
        labels = classifier.predict(texts, TableScorer(copying)).labels
        assert said is not None
        assert [*labels] == [TASK.labels[place] for place in said]


def test_fixed_form_has_its_answers_too(
    found: SelectionResult, problem: Problem, select: Callable[..., SelectionResult]
) -> None:
    texts = [problem.examples[row].text for row in found.test_answers.rows]
    for use in USES:
        subject = PromptSubject.of_result(found, use, is_fixed=True)
        labels = subject.asked.predict(texts, TableScorer(copying)).labels
        assert subject.in_place_of is not None
        assert known_answers(found, subject) == dict(zip(found.test_answers.rows, labels, strict=True))
    plain = select(deaf).test_answers
    assert plain is not None
    assert plain.fixed == (None, None)


def test_result_with_a_pool_survives_json(found: SelectionResult) -> None:
    assert SelectionResult.model_validate_json(found.model_dump_json()) == found


def test_price_is_no_less_than_what_is_spent(make_config: Make, problem: Problem) -> None:
    config = make_config(search={"forms": ALL}, comparisons="none")
    prepared = prepare_run(problem, TableScorer(copying), config)
    planned = price_run(prepared.runs, prepared.method)[Phase.EVALUATE]

    spent = select_support_examples(problem, TableScorer(copying), config).cost.pairs
    fixed = make_config(search={"forms": ["fixed"]}, comparisons="none")
    less = price_run(prepare_run(problem, TableScorer(copying), fixed).runs, prepared.method)[Phase.EVALUATE]

    without = select_support_examples(problem, TableScorer(copying), fixed).cost.pairs
    assert 0 < spent - without <= planned.pairs - less.pairs


def test_random_and_validation_is_paid_for_the_tokens_of_the_forms(make_config: Make, problem: Problem) -> None:
    prepared = prepare_run(problem, TableScorer(copying), make_config(search={"forms": ALL}))
    session = SearchRun(prepared, MemoryCheckpointStore())
    session.compare(session.choose())

    evaluation, prices = session.state.comparison, prepared.run.prices
    choice, one = evaluation.choice, prices.validating(1)
    rival = prices.validating(evaluation.tally.drawn) + prices.confirming(1)
    assert choice.tokens <= rival.tokens < choice.tokens + 2 * one.tokens
    assert rival.pairs > choice.pairs
    assert sum(one.rows for one in evaluation.forms) == prices.choosing_form().pairs
    assert prices.choosing_form().tokens < choice.tokens <= prices.lens.tokens * 1.1  # of rows as long as the mean


def test_run_with_forms_resumed_from_any_checkpoint_has_the_same_digest(
    select: Callable[..., SelectionResult], make_store: Make, found: SelectionResult
) -> None:
    store = make_store()
    select(store=store)
    for data in store.of_each_phase():
        assert select(store=make_store(data)).digest == found.digest


def test_forms_that_do_not_fit_the_context_are_not_tried(make_config: Make, problem: Problem) -> None:
    config = make_config(search={"forms": ALL}, comparisons="none")
    result = select_support_examples(problem, TableScorer(copying, max_prompt_tokens=80), config)

    assert {one.form.name for one in result.forms} == {"nearest 4", "nearest 8", "fixed+nearest 4"}


def test_budget_that_does_not_cover_the_forms_is_said(select: Callable[..., SelectionResult]) -> None:
    spent = select(forms=["fixed"]).cost.pairs

    result = select(budget={"max_pairs": spent - 90})

    assert result.answer.form.kind == "fixed"
    assert any("other forms of the prompt" in warning for warning in result.warnings)


def test_options_name_the_forms() -> None:
    assert resolve_config("quick", {"search.forms": "fixed"}).search.forms == ("fixed",)
    assert PRESETS["quick"].search.forms == PRESETS["standard"].search.forms == tuple(ALL)
    assert PRESETS["paper"].search.forms == ("fixed",)
    with pytest.raises(InvalidConfig, match=r"search.forms must be a list of some of fixed, nearest, fixed\+nearest"):
        resolve_config("quick", {"search.forms": ["closest"]})
