from collections import Counter
from collections.abc import Callable

import pytest
from lens_engine.methods.random_permutations import RandomPermutations

from lens_engine.config import SelectionConfig
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples

MakeConfig = Callable[..., SelectionConfig]


@pytest.fixture(scope="module")
def make_random(
    make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> Callable[..., RandomPermutations]:
    def make(**options: object) -> RandomPermutations:
        problem, config = make_planted_problem(), make_config(**options)
        return RandomPermutations(split_examples(problem, config), problem.task, config)

    return make


def test_i_th_permutation_does_not_depend_on_how_many_are_drawn(make_random: Callable[..., RandomPermutations]) -> None:
    drawn = make_random().draw(0, 10)

    assert drawn == [*make_random().draw(0, 3), *make_random().draw(3, 7)]
    assert len(set(drawn)) == 10


def test_permutations_are_balanced_candidates(make_random: Callable[..., RandomPermutations]) -> None:
    random = make_random()

    for permutation in random.draw(0, 20):
        labels = Counter(random.rows.candidates[index].label for index in permutation)
        assert labels == {"negative": 2, "positive": 2}
        assert len(set(permutation)) == 4


def test_unbalanced_permutations_have_any_labels(make_random: Callable[..., RandomPermutations]) -> None:
    random = make_random(balanced=False)

    shares = {
        sum(random.rows.candidates[index].label == "positive" for index in permutation)
        for permutation in random.draw(0, 60)
    }
    assert len(shares) >= 4


def test_other_seed_draws_other_permutations(make_random: Callable[..., RandomPermutations]) -> None:
    assert make_random(seed=1).draw(0, 5) != make_random(seed=2).draw(0, 5)
