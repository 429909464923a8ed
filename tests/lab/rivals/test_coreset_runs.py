from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lab.rivals.names import CORESET_METHODS, CoresetMethod
from lens_engine.errors import NothingSelected
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.types import Example, Phase, StopReason

Make = Callable[..., Any]


def test_coreset_method_presents_what_its_selector_chose(
    select: Callable[..., SelectionResult],
    problem: Problem,
    make_config: Make,
    make_fine_tuner: Make,
    quality_of: Callable[[str], int],
) -> None:
    fine_tuner = make_fine_tuner()

    result = select("least_confidence", fine_tuner=fine_tuner, seed=3)

    rows = split_examples(problem, make_config(seed=3))
    expected = list[Example]()
    for label in problem.task.labels:
        of_label = [example for example in rows.candidates if example.label == label]
        expected += sorted(of_label, key=lambda example: (-quality_of(example.text), example.row))[:2]
    assert set(result.rows) == {example.row for example in expected}
    assert fine_tuner.asked == [(len(rows.candidates), 20, 3)]


def test_order_of_a_coreset_is_drawn_from_the_seed(select: Callable[..., SelectionResult]) -> None:
    orders = set()
    for method in ("least_confidence", "entropy", "margin"):  # with two labels all three choose the same rows
        result = select(method)
        orders.add(result.rows)

    assert len({frozenset(order) for order in orders}) == 1
    assert len(orders) > 1


@pytest.mark.parametrize("method", CORESET_METHODS)
def test_every_coreset_method_is_balanced_priced_and_repeatable(
    method: CoresetMethod, select: Callable[..., SelectionResult]
) -> None:
    result = select(method)

    assert Counter(example.label for example in result.examples) == {"negative": 2, "positive": 2}
    assert result.provenance.config["method"] == method
    assert (result.partial, result.test is None) == (False, False)
    assert select(method).digest == result.digest
    assert select(method, seed=1).rows != result.rows


def test_fine_tuning_is_shown_and_can_be_cancelled(select: Callable[..., SelectionResult], make_listener: Make) -> None:
    listener = make_listener()
    select("herding", listener=listener)
    heard = [progress for progress in listener.seen if progress.phase is Phase.FILTER]

    assert len(heard) > 3
    tokens = [progress.tokens_done for progress in heard]
    assert tokens == sorted(tokens)
    assert tokens[-1] > tokens[0]
    assert {(progress.step, progress.steps) for progress in heard} == {(1, 1)}
    with pytest.raises(NothingSelected) as caught:
        select("herding", listener=make_listener(stop_after=3))
    assert caught.value.stop_reason is StopReason.CANCELLED
