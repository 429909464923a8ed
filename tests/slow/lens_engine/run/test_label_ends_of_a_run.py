"""A run whose label words begin others: answers are not all the shortest word, and the result says how it was asked."""

import re

from lens_engine.model.base import Prefix
from lens_engine.presets import resolve_config
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example

LABELS = ("refund", "refund status", "refund status change")
ROWS = [Example(number, f"message {number}", LABELS[number % 3]) for number in range(120)]
OPTIONS = {"num_demonstrations": 3, "search": {"sets": 4, "forms": ("fixed",)}, "classifier": {"kind": "bag_of_words"}}


def log_prob(prefix: Prefix, query: str, span: str) -> float:
    """The sum over the span's words and marks, each after all before it, as a language model gives it."""
    return sum(
        hashed_log_prob(prefix, query + span[: found.start()], found[0]) for found in re.finditer(r"\w+|[^\w\s]", span)
    )


def select(template: str, labels: tuple[str, ...] = LABELS) -> SelectionResult:
    rows = [Example(one.row, one.text, labels[one.row % 3]) for one in ROWS]
    problem = Problem(Task.for_examples(rows, template), rows)
    return select_support_examples(problem, TableScorer(log_prob), resolve_config("quick", OPTIONS), progress=False)


def test_answers_are_not_all_the_shortest_label_word() -> None:
    result = select("{text} Topic: {label}.")
    assert result.task.label_end == "."
    assert len({one for one in result.answers.support_examples[0] or () if one is not None}) > 1
    assert "each is scored with its end: '.'" in result.summary()
