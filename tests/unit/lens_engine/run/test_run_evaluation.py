from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.config import BudgetOptions, SelectionConfig
from lens_engine.judging.score import Score
from lens_engine.metering.meter import Meter
from lens_engine.methods.base import Findings, Run
from lens_engine.methods.catalogue import make_method
from lens_engine.pricing.prices import Prices, TokenLengths
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.evaluation import Evaluator
from lens_engine.run.state import Evaluation
from lens_engine.testing import TableScorer
from lens_engine.types import Permutation

FIRST: Permutation = (0, 1, 2, 3)
SECOND: Permutation = (4, 5, 6, 7)


@pytest.fixture(scope="module")
def evaluate(
    make_planted_problem: Callable[..., Problem],
    make_config: Callable[..., SelectionConfig],
    make_meter: Callable[..., Meter],
) -> Callable[..., list[Evaluation]]:
    """Every evaluation saved for two finalists, by their hits on 20 validation and 16 confirmation rows."""

    def run(
        validation: tuple[int, int] = (10, 5), confirmation: tuple[int, int] = (8, 4), **budget: Any
    ) -> list[Evaluation]:
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
        scores = tuple(Score(hits, 20, 0.0) for hits in validation)
        findings = Findings((FIRST, SECOND), scores, np.zeros((2, 20)))
        saved = list[Evaluation]()
        evaluator = Evaluator(run, meter, make_method(run), findings, FIRST)
        evaluator.evaluate(Evaluation(), lambda evaluation, _: saved.append(evaluation))
        return saved

    return run


def test_steps_are_done_in_order_of_importance_and_saved_one_by_one(evaluate: Callable[..., list[Evaluation]]) -> None:
    saved = evaluate()

    steps = ("confirmation", "test", "zero_shot", "bag_of_words", "random_and_validation", "random", "order")
    assert list(dict.fromkeys(evaluation.done for evaluation in saved)) == [steps[: count + 1] for count in range(7)]
    assert saved[-1].skipped == ()


@pytest.mark.parametrize(
    ("validation", "confirmation", "chosen"),
    [
        ((20, 15), (0, 16), SECOND),  # 20 against 31 of 36: fresh rows overrule
        ((20, 10), (10, 11), FIRST),  # 30 against 21: one fresh row more does not
        ((15, 16), (9, 8), FIRST),  # 24 each, and the same margins: the earlier rows
    ],
)
def test_best_on_validation_and_confirmation_together_is_chosen(
    validation: tuple[int, int], confirmation: tuple[int, int], chosen: Permutation, evaluate: Any
) -> None:
    first = evaluate(validation, confirmation)[0]

    hits = confirmation[(FIRST, SECOND).index(chosen)]
    assert first.chosen == chosen
    assert (first.confirmation.accuracy, first.confirmation.n, first.num_confirmed) == (hits / 16, 16, 2)


def test_confirmation_that_would_eat_the_test_rows_is_skipped(evaluate: Callable[..., list[Evaluation]]) -> None:
    with_confirmation = 60 + 4 * 16  # test rows, and a beam of four on 16 rows

    last = evaluate(max_pairs=with_confirmation - 1)[-1]

    assert "confirmation" in last.skipped
    assert last.chosen == FIRST
    assert last.test is not None
    assert evaluate(max_pairs=with_confirmation)[-1].confirmation is not None


def test_first_step_too_dear_does_not_stop_cheaper_ones(evaluate: Callable[..., list[Evaluation]]) -> None:
    last = evaluate(max_pairs=60 + 4 * 16 + 60 + 100 + 8 * 60)[-1]

    # after confirmation, test rows, zero-shot and random-and-validation, 8 orders fit and 10 random permutations do not
    assert last.skipped == ("random",)
    assert last.order is not None
