"""A run whose time ends: soon after its limit however slow a chunk is, and never without a classifier."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.model.base import Prefix
from lens_engine.model.limits import look_up
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.testing import TableScorer
from lens_engine.types import Example, LabelLogProbs, Phase, StopReason

Make = Callable[..., Any]

NUM_LABELS = 40
PAIR_SECONDS = 0.01


class SlowScorer(TableScorer):
    """A model that takes time for each pair, and hears of a stop as a language model does between its layers."""

    def score(self, prefixes: list[Prefix], queries: list[str], label_spans: list[str]) -> LabelLogProbs:  # type: ignore[override]
        self._wait(len(prefixes) * len(queries))
        return super().score(prefixes, queries, label_spans)

    def score_pairs(self, prefixes: list[Prefix], queries: list[str], label_spans: list[str]) -> LabelLogProbs:  # type: ignore[override]
        self._wait(len(queries))
        return super().score_pairs(prefixes, queries, label_spans)

    def _wait(self, pairs: int) -> None:
        for _ in range(pairs):
            time.sleep(PAIR_SECONDS)
            look_up()


@pytest.fixture(scope="module")
def problem() -> Problem:
    labels = [f"label{number}" for number in range(NUM_LABELS)]
    words = {label: f"the customer asks about {label}" for label in labels}
    examples = [
        Example(row, f"text {row} of {labels[row % NUM_LABELS]}", labels[row % NUM_LABELS]) for row in range(800)
    ]
    test = [Example(row, f"another {one.text}", one.label) for row, one in enumerate(examples[:160])]
    return Problem(Task(Template("{text} It was {label}"), Verbalizer(words)), examples, test)


@pytest.fixture(scope="module")
def config() -> SelectionConfig:
    return SelectionConfig.model_validate(
        {"num_demonstrations": NUM_LABELS, "rows": {"search": 160, "judging": 160}, "filtering": {"candidates": 160}}
    )


def limit(config: SelectionConfig, seconds: float, **changes: Any) -> SelectionConfig:
    return config.model_copy(update={"budget": config.budget.model_copy(update={"max_seconds": seconds}), **changes})


def check_shown(result: SelectionResult) -> None:
    for shown in (str(result), result.summary(), result._repr_html_() or ""):
        assert re.search("Count words|Counting words is", shown)


def test_run_without_choice_ends_counting_words(problem: Problem, config: SelectionConfig, make_listener: Make) -> None:
    began, listener = time.monotonic(), make_listener()
    scorer = SlowScorer()

    result = select_support_examples(problem, scorer, limit(config, 1.0), listener=listener)

    # The first round of filtering alone takes many times as long. The words are fitted in the rest of the time.
    assert scorer.num_pairs * PAIR_SECONDS < 2.0
    assert (result.partial, result.stop_reason) == (True, StopReason.BUDGET)
    assert [one.name for one in result.tested] == ["bag_of_words"]
    assert result.classifier is not None
    assert "the budget ended before any row was judged: the examples of the prompt are random" in result.warnings
    assert not any("InfoScore" in warning for warning in result.warnings)
    assert result.support_examples[0].recommended is None
    assert result.answer.method == "random"
    assert "examples of Lens" not in result.summary()
    assert listener.seen[-1].cut_off is Phase.FILTER
    assert time.monotonic() - began < 60
    check_shown(result)


def test_same_run_with_more_time_goes_on(make_planted_problem: Make, make_config: Make, make_store: Make) -> None:
    """Nothing of a run that ended too early is in its checkpoint but what was scored."""
    problem, store = make_planted_problem(), make_store()
    config = make_config(classifier={"kind": "auto"})
    whole = select_support_examples(problem, TableScorer(), config)

    early = select_support_examples(problem, SlowScorer(), limit(config, 0.01), checkpoints=store)
    resumed = select_support_examples(
        problem, TableScorer(), config, checkpoints=make_store(store.saved[-1] if store.saved else None)
    )

    assert any("are random" in warning for warning in early.warnings)
    assert resumed.digest == whole.digest


def test_test_rows_end_at_the_last_moment_of_a_run_without_a_limit(problem: Problem, config: SelectionConfig) -> None:
    scorer, began = SlowScorer(), time.monotonic()

    result = select_support_examples(problem, scorer, config, deadline=began + 0.3, last_moment=began + 0.8)

    assert scorer.num_pairs * PAIR_SECONDS < 1.5
    assert result.answer.test is None
    assert result.classifier is not None
    assert any("the operator's time limit for a run" in warning for warning in result.warnings)
