"""The objective macro_f1: prompts, wordings and the classifier are chosen by it, and compared by it."""

from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.model.base import Prefix
from lens_engine.prompt.template import Task
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example

Make = Callable[..., Any]
WORDS = {"common": "common", "rare": "rare"}
TASK = Task("{text} It was {label}.", WORDS)
KIND = Task("{text} Kind: {label}.", WORDS)
ROWS = [Example(row, f"text {row * 7919 % 10007} {'rr' if row % 6 == 0 else 'cc'}", "common") for row in range(420)]
ROWS = [Example(one.row, one.text, "rare" if one.row % 6 == 0 else "common") for one in ROWS]


def leaning(prefix: Prefix, query: str, span: str) -> float:
    """The model half knows the rare label, and a prompt leans towards it or away from it."""
    if "rare" not in span:
        return -1.0
    lean, noise = hashed_log_prob(prefix, "", "lean") / 2, hashed_log_prob(prefix, query, "noise") / 2
    return 0.5 + lean + noise + 1.0 * (" rr " in query)


def torn(_: Prefix, query: str, span: str) -> float:
    """One wording has always the common label, and the other finds rare ones and errs on common ones."""
    if "It was" in query:
        return 0.0 if "common" in span else -3.0
    is_found = hashed_log_prob((), query, "find") > (-7.0 if " rr " in query else -2.4)
    return 0.0 if is_found == ("rare" in span) else -3.0


@pytest.fixture(scope="module")
def select(make_config: Make) -> Callable[..., SelectionResult]:
    def run(*others: Task, log_prob: Any = leaning, store: Any = None, **options: Any) -> SelectionResult:
        problem = Problem(TASK, ROWS, alternatives=others)
        return select_support_examples(problem, TableScorer(log_prob), make_config(**options), checkpoints=store)

    return run


@pytest.fixture(scope="module")
def by_macro_f1(select: Make) -> SelectionResult:
    return select(objective="macro_f1", classifier={"kind": "auto"})


def test_prompt_is_the_best_by_the_objective(select: Make) -> None:
    for of in ("accuracy", "macro_f1"):
        result = select(objective=of)
        whole = [one for one in result.contenders if one.use == "prompt" and one.judged and not one.is_dropped]
        least = max(getattr(one.judged, of) for one in whole) - 0.02  # the cheaper within two points
        assert getattr(result.answer.judged, of) >= least


def test_result_is_read_by_macro_f1_beside_the_accuracy(by_macro_f1: SelectionResult) -> None:
    answer, summary = by_macro_f1.answer, by_macro_f1.summary()
    assert answer.judged is not None
    assert answer.estimate is not None
    assert answer.estimate.macro_f1 is not None
    assert answer.estimate.macro_f1 <= (answer.judged.macro_f1 or 0.0) + 0.02
    assert "macro-F1" in summary
    assert "macro-F1" in by_macro_f1.verdict.sentence


@pytest.mark.parametrize(("objective", "template"), [("accuracy", TASK), ("macro_f1", KIND)])
def test_wording_is_chosen_by_the_objective(objective: str, template: Task, select: Make) -> None:
    result = select(KIND, log_prob=torn, objective=objective, rows={"search": 0, "judging": 300})
    assert result.task.template == template.template.pattern


def test_answer_that_is_always_the_largest_class_is_not_to_be_used(select: Make) -> None:
    result = select(log_prob=lambda _, _query, span: -3.0 * ("rare" in span), objective="macro_f1")
    assert result.verdict.sentence.startswith("Use nothing of this run as it is.")
