from collections import Counter
from collections.abc import Callable

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.methods.permutations import draw_permutations
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.types import Example, Permutation

MakeConfig = Callable[..., SelectionConfig]


@pytest.fixture(scope="module")
def draw(make_planted_problem: Callable[..., Problem], make_config: MakeConfig) -> Callable[..., list[Permutation]]:
    def run(first: int, count: int, **options: object) -> list[Permutation]:
        problem, config = make_planted_problem(), make_config(**options)
        return draw_permutations(split_examples(problem, config).candidates, problem.task, config, first, count)

    return run


@pytest.fixture(scope="module")
def candidates(make_planted_problem: Callable[..., Problem], make_config: MakeConfig) -> tuple[Example, ...]:
    return split_examples(make_planted_problem(), make_config()).candidates


def test_i_th_permutation_does_not_depend_on_how_many_are_drawn(draw: Callable[..., list[Permutation]]) -> None:
    drawn = draw(0, 10)

    assert drawn == [*draw(0, 3), *draw(3, 7)]
    assert len(set(drawn)) == 10


def test_permutations_are_balanced_candidates(
    draw: Callable[..., list[Permutation]], candidates: tuple[Example, ...]
) -> None:
    for permutation in draw(0, 20):
        labels = Counter(candidates[index].label for index in permutation)
        assert labels == {"negative": 2, "positive": 2}
        assert len(set(permutation)) == 4


def test_unbalanced_permutations_have_any_labels(
    draw: Callable[..., list[Permutation]], candidates: tuple[Example, ...]
) -> None:
    drawn = draw(0, 60, balanced=False)

    shares = {sum(candidates[index].label == "positive" for index in permutation) for permutation in drawn}
    assert len(shares) >= 4


def test_other_seed_draws_other_permutations(draw: Callable[..., list[Permutation]]) -> None:
    assert draw(0, 5, seed=1) != draw(0, 5, seed=2)
