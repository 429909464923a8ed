"""What every method promises."""

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from lens_engine.config import METHOD_NAMES
from lens_engine.metering.cost import Cost
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.preparation import PreparedRun, prepare_run
from lens_engine.search.base import PackedState
from lens_engine.search.catalogue import METHODS

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def chosen(select: Make) -> Callable[..., SelectionResult]:
    """The result of a method, of one run for all tests."""
    return cache(select)


def test_every_name_of_a_method_has_one() -> None:
    assert set(METHODS) == set(METHOD_NAMES)


@pytest.mark.parametrize("method", [method for method in METHOD_NAMES if method not in ("lens", "zero_shot")])
def test_method_chooses_label_balanced_candidates_and_is_tested(
    method: str, chosen: Callable[..., SelectionResult], problem: Problem, make_config: Make
) -> None:
    result = chosen(method)

    candidates = {example.row for example in split_examples(problem, make_config()).candidates}
    assert len(set(result.rows)) == 4
    assert set(result.rows) <= candidates
    assert Counter(example.label for example in result.examples) == {"negative": 2, "positive": 2}
    assert result.test is not None
    assert result.test.n == 60
    assert result.provenance.config["method"] == method
    assert not result.partial
    assert [one for one in result.warnings if "most frequent label" not in one] == []
    assert [one.method for one in result.answer.contenders] == [method, "zero_shot"]
    assert result.answer.comparison is None
    assert {example.info_score for example in result.examples} == {None}


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_seed_decides_digest_and_choice(method: str, select: Make, chosen: Make) -> None:
    first = chosen(method)

    assert select(method).digest == first.digest
    assert method == "zero_shot" or select(method, seed=1).rows != first.rows


@pytest.fixture
def prepare(problem: Problem, make_planted_scorer: Make, make_config: Make) -> Make:
    def run(method: str) -> PreparedRun:
        return prepare_run(problem, make_planted_scorer(), make_config(method=method))

    return run


def store(packed: PackedState) -> PackedState:
    """What a checkpoint gives back: values that went through JSON."""
    return PackedState(json.loads(json.dumps(packed.values)), dict(packed.arrays))


@pytest.mark.parametrize("method", METHODS)
def test_steps_keep_to_the_price_and_go_on_from_any_packed_state_to_the_same_choice(method: str, prepare: Make) -> None:
    prepared = prepare(method)
    chooser = prepared.method
    states = [chooser.start(), *chooser.steps(chooser.start(), prepared.meter)]
    chosen = chooser.choice(states[-1])

    assert chosen is not None
    for state in (states[0], states[len(states) // 2], states[-1]):
        packed, other = store(chooser.pack(state)), prepare(method)
        resumed = other.method.unpack(packed)
        assert other.method.choice(resumed) == chooser.choice(state)
        again = store(chooser.pack(resumed))
        assert again.values == packed.values
        np.testing.assert_equal(again.arrays, packed.arrays)
        for step in other.method.steps(resumed, other.meter):
            resumed = step
        assert other.method.choice(resumed) == chosen
    price, spent = sum(chooser.price().values(), Cost()), prepared.meter.spent
    assert spent.pairs <= price.pairs
    assert spent.tokens <= 1.05 * price.tokens  # a race that drops nothing feeds some prefixes again
