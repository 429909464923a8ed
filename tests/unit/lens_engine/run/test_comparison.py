from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Prices, TokenLengths
from lens_engine.retrieval.form import PromptForm
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.comparison import Comparer
from lens_engine.run.single_prompts import SinglePrompts
from lens_engine.run.state import ComparisonState, JudgedForm, JudgedPrompt
from lens_engine.search.base import Findings, Run
from lens_engine.search.catalogue import make_method
from lens_engine.testing import TableScorer
from lens_engine.types import Permutation, StoredLogProbs

FIRST: Permutation = (0, 1, 2, 3)
SECOND: Permutation = (4, 5, 6, 7)


@pytest.fixture(scope="module")
def compare(
    make_planted_problem: Callable[..., Problem],
    make_config: Callable[..., SelectionConfig],
    make_meter: Callable[..., Meter],
) -> Callable[..., list[ComparisonState]]:
    """Every comparison saved for two finalists, by their hits on 20 validation and 16 confirmation rows."""

    def run(
        validation: tuple[int, int] = (10, 5), confirmation: tuple[int, int] = (8, 4), **budget: Any
    ) -> list[ComparisonState]:
        problem, config = make_planted_problem(), make_config()
        rows, task = split_examples(problem, config), problem.task
        places = {task.render_query(example.text): place for place, example in enumerate(rows.confirmation)}
        labels = {task.render_query(example.text): example.label for example in problem.examples}
        starts = [task.render_demonstration(rows.candidates[start]) for start in (0, 4)]

        def answer(prefix: tuple[str, ...], query: str, span: str) -> float:
            hits = confirmation[starts.index(prefix[0])] if prefix and prefix[0] in starts else 0
            is_right = places.get(query, 99) < hits
            return -1.0 if is_right == (span.strip().lower() == labels.get(query)) else -2.0

        run = Run(task, config, rows, Prices(rows, config, TokenLengths(6.0, 5.0)))
        meter = make_meter(TableScorer(answer), budget=BudgetOptions(**budget))
        known = [
            [
                [-1.0, -2.0] if (place < hits) == (gold == 0) else [-2.0, -1.0]
                for place, gold in enumerate(problem.task.index_labels(rows.validation))
            ]
            for hits in validation
        ]
        findings = Findings((FIRST, SECOND), np.array(known, dtype=np.float32))
        saved = list[ComparisonState]()
        comparer = Comparer(run, meter, make_method(run), findings, FIRST)
        comparer.compare(ComparisonState(choice_pairs=2_000), lambda comparison, _: saved.append(comparison))
        return saved

    return run


def test_steps_are_done_in_order_of_importance_and_saved_one_by_one(
    compare: Callable[..., list[ComparisonState]],
) -> None:
    saved = compare()

    steps = ("confirmation", "test", "zero_shot", "random_and_validation")
    assert list(dict.fromkeys(comparison.done for comparison in saved)) == [steps[: count + 1] for count in range(4)]
    assert saved[-1].skipped == ()


@pytest.mark.parametrize(
    ("validation", "confirmation", "chosen"),
    [
        ((20, 15), (0, 16), SECOND),  # 20 against 31 of 36: fresh rows overrule
        ((20, 10), (10, 11), FIRST),  # 30 against 21: one fresh row more does not
        ((15, 16), (9, 8), FIRST),  # 24 each, and the same losses: the earlier rows
    ],
)
def test_best_on_validation_and_confirmation_together_is_tested(
    validation: tuple[int, int], confirmation: tuple[int, int], chosen: Permutation, compare: Any
) -> None:
    first, second, *_ = compare(validation, confirmation)

    assert [one.permutation for one in first.judged] == [FIRST, SECOND]
    assert {one.log_probs.array.shape for one in first.judged} == {(36, 2)}
    assert second.tested[0].permutation == chosen


def test_confirmation_that_would_eat_the_test_rows_is_skipped(compare: Callable[..., list[ComparisonState]]) -> None:
    with_confirmation = 2 * 60 + 6 * 16  # test rows for two uses, and a beam of four with two others on 16 rows

    last = compare(max_pairs=with_confirmation - 1)[-1]

    assert last.skipped[0] == "confirmation"
    assert last.tested[0].permutation == FIRST
    assert last.zero_shot is not None  # a cheaper step that comes later
    assert compare(max_pairs=with_confirmation)[-1].judged


@pytest.mark.parametrize("is_tested", [False, True])
def test_form_that_leads_is_chosen_once_it_is_tested(
    is_tested: bool, make_planted_problem: Callable[..., Problem], make_config: Callable[..., SelectionConfig]
) -> None:
    problem, config = make_planted_problem(), make_config()
    rows = split_examples(problem, config)
    run = Run(problem.task, config, rows, Prices(rows, config, TokenLengths(6.0, 5.0)))
    gold = problem.task.index_labels((*rows.validation, *rows.confirmation))
    right, wrong = (StoredLogProbs.of(np.where(np.eye(2)[gold] == sign, -1.0, -2.0)) for sign in (1, 0))
    tested = StoredLogProbs.of(np.full((len(rows.test), 2), -1.0))
    found = {"accuracy": 1.0, "macro_f1": 1.0, "rows": len(gold), "log_probs": right}
    kind = PromptForm(kind="nearest", nearest=4)
    form = JudgedForm(form=kind, permutation=(), tested=tested if is_tested else None, **found)
    fixed = JudgedPrompt(permutation=FIRST, log_probs=wrong)
    comparison = ComparisonState(judged=(fixed,), forms=(form,))
    compared = SinglePrompts(run, Findings(), comparison, FIRST, "lens").compare("prompt")
    assert [one.form.kind for one in compared.contenders] == ["fixed", "nearest"]
    assert (compared.chosen.form.kind, compared.fixed.permutation) == ("nearest" if is_tested else "fixed", FIRST)
