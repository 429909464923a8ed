from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.config import SelectionConfig
from lens_engine.method.permutations import draw_permutation, draw_permutations, keep_apart, shuffle, swap
from lens_engine.rows.dealing import deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.types import Permutation

MakeConfig = Callable[..., SelectionConfig]
GROUPS = np.array([0, 1, 0, 1, 0, 1, 0])


def test_drawn_members_fill_the_quotas_without_repetition() -> None:
    for seed in range(30):
        drawn = draw_permutation(GROUPS, (3, 1), np.random.default_rng(seed))
        assert Counter(int(GROUPS[member]) for member in drawn) == {0: 3, 1: 1}
        assert len(set(drawn)) == 4
        assert all(type(member) is int for member in drawn)


def test_swap_exchanges_any_two_places_and_no_others() -> None:
    members = (5, 3, 8, 1)

    swapped = {swap(members, np.random.default_rng(seed)) for seed in range(100)}

    exchanged = {tuple(place for place in range(4) if one[place] != members[place]) for one in swapped}
    assert exchanged == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    assert all(sorted(one) == sorted(members) for one in swapped)
    assert swap((7,), np.random.default_rng(0)) == (7,)


def test_shuffling_keeps_members_and_depends_on_the_generator_alone() -> None:
    members = (5, 3, 8, 1)

    first, again = (shuffle(members, np.random.default_rng(4)) for _ in range(2))

    assert first == again
    assert sorted(first) == [1, 3, 5, 8]
    assert len({shuffle(members, np.random.default_rng(seed)) for seed in range(200)}) == 24


@pytest.fixture(scope="module")
def draw(make_planted_problem: Callable[..., Problem], make_config: MakeConfig) -> Callable[..., list[Permutation]]:
    def run(first: int, count: int, **options: object) -> list[Permutation]:
        problem, config = make_planted_problem(), make_config(**options)
        rows = deal_rows(problem, config)
        return draw_permutations(rows.search, problem.task, rows.quotas, config.seed, first, count)

    return run


def test_ith_permutation_does_not_depend_on_the_count(draw: Callable[..., list[Permutation]]) -> None:
    drawn = draw(0, 10)

    assert drawn == [*draw(0, 3), *draw(3, 7)]
    assert len(set(drawn)) == 10


def test_unbalanced_permutations_have_any_labels(
    draw: Callable[..., list[Permutation]], make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    candidates, drawn = deal_rows(make_planted_problem(), make_config()).search, draw(0, 60, balanced=False)

    shares = {sum(candidates[index].label == "positive" for index in permutation) for permutation in drawn}
    assert len(shares) >= 4


def keep_apart_naively(ranked: list[Permutation], most: int, most_shared: int, least: int) -> list[Permutation]:
    def shares(members: Permutation) -> int:
        return max((len(set(members) & set(other)) for other in chosen), default=0)

    chosen = list[Permutation]()
    for members in ranked:
        if len(chosen) < most and shares(members) <= most_shared:
            chosen.append(members)
    while len(chosen) < min(least, len(ranked)):
        chosen.append(min((members for members in ranked if members not in chosen), key=shares))
    return chosen


@given(
    ranked=st.lists(st.permutations(range(9)).map(lambda order: tuple(order[:3])), max_size=30, unique=True),
    most=st.integers(0, 8),
    most_shared=st.integers(0, 3),
    least=st.integers(0, 32),
)
def test_permutations_are_kept_apart_as_by_the_naive_loop(
    ranked: list[Permutation], most: int, most_shared: int, least: int
) -> None:
    assert keep_apart(ranked, most, most_shared, least) == keep_apart_naively(ranked, most, most_shared, least)
