from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.method.permutations import draw_permutations, keep_apart, shuffle
from lens_engine.rows.dealing import deal_rows
from lens_engine.types import Permutation

Make = Callable[..., Any]


def test_shuffling_keeps_members_and_depends_on_the_generator_alone() -> None:
    members = (5, 3, 8, 1)
    first, again = (shuffle(members, np.random.default_rng(4)) for _ in range(2))
    assert first == again
    assert sorted(first) == [1, 3, 5, 8]
    assert len({shuffle(members, np.random.default_rng(seed)) for seed in range(200)}) == 24


@pytest.fixture(scope="module")
def draw(make_planted_problem: Make, make_config: Make) -> Callable[..., list[Permutation]]:
    def run(count: int, **options: object) -> list[Permutation]:
        problem, config = make_planted_problem(), make_config(**options)
        rows = deal_rows(problem, config)
        return draw_permutations(rows.search, problem.task, rows.quotas, config.seed, count)

    return run


def test_ith_permutation_does_not_depend_on_the_count(draw: Callable[..., list[Permutation]]) -> None:
    drawn = draw(10)
    assert drawn[:3] == draw(3)
    assert len(set(drawn)) == 10


def test_unbalanced_permutations_have_any_labels(
    draw: Callable[..., list[Permutation]], make_planted_problem: Make, make_config: Make
) -> None:
    candidates, drawn = deal_rows(make_planted_problem(), make_config()).search, draw(60, balanced=False)
    shares = {sum(candidates[index].label == "positive" for index in permutation) for permutation in drawn}
    assert len(shares) >= 4


def test_permutations_are_kept_apart_and_the_least_alike_fill_up() -> None:
    ranked = [(0, 1, 2), (0, 1, 3), (4, 5, 6), (0, 4, 7)]
    found = [keep_apart(ranked, number, 1) for number in (0, 1, 2, 3, 9)]
    kept = [(0, 1, 2), (4, 5, 6), (0, 4, 7), (0, 1, 3)]
    assert found == [[], kept[:1], kept[:2], kept[:3], kept]
    assert keep_apart(ranked, 3, 0) == kept[:3]
