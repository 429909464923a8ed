from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.search.lens.diversity import Affinity, exchange
from lens_engine.types import FloatArray, IndexArray

QUOTAS = (2, 2)
GROUPS = np.array([0, 1] * 5, dtype=np.intp)
EVERYONE = np.arange(10)


def make_affinity(seed: int, size: int = 10, weight: float = 1.0) -> Affinity:
    rng = np.random.default_rng(seed)
    return Affinity.from_features(rng.normal(size=size), rng.normal(size=(size, 6)), weight)


def random_start(seed: int, groups: IndexArray = GROUPS, quotas: Sequence[int] = QUOTAS) -> list[int]:
    rng = np.random.default_rng(seed)
    return [
        int(member)
        for group, quota in enumerate(quotas)
        for member in rng.choice(np.flatnonzero(groups == group), quota, replace=False)
    ]


def every_balanced_set() -> list[list[int]]:
    evens, odds = range(0, 10, 2), range(1, 10, 2)
    return [[*first, *second] for first in combinations(evens, 2) for second in combinations(odds, 2)]


def count_groups(members: Sequence[int]) -> list[int]:
    return [int(size) for size in np.bincount(GROUPS[list(members)], minlength=2)]


@pytest.mark.parametrize("seed", range(20))
def test_best_of_many_starts_is_the_brute_force_optimum(seed: int) -> None:
    affinity = make_affinity(seed)
    found = max(affinity.objective(exchange(affinity, random_start(start), GROUPS, EVERYONE)) for start in range(40))

    assert found == pytest.approx(max(map(affinity.objective, every_balanced_set())), abs=1e-9)


@given(seed=st.integers(0, 10_000), weight=st.floats(0.0, 5.0))
def test_exchange_never_ends_below_its_start_and_keeps_quotas(seed: int, weight: float) -> None:
    affinity, start = make_affinity(seed, weight=weight), random_start(seed)

    found = exchange(affinity, start, GROUPS, EVERYONE)

    assert affinity.objective(found) >= affinity.objective(start) - 1e-9
    assert count_groups(found) == list(QUOTAS)
    assert len(set(found)) == 4


@pytest.mark.parametrize("allowed", [[], [0], [0, 1]])
def test_exchange_without_an_outsider_keeps_its_start(allowed: list[int]) -> None:
    affinity = make_affinity(0, size=2)

    assert exchange(affinity, [0, 1], np.array([0, 1]), np.array(allowed, dtype=np.intp)) == [0, 1]


def test_objective_is_the_sum_of_each_members_fit_to_the_rest() -> None:
    affinity = make_affinity(2)
    members = [1, 4, 6, 7]

    by_definition = sum(affinity.fit([e for e in members if e != member])[member] for member in members)

    assert affinity.objective(members) == pytest.approx(by_definition)


def test_terms_are_z_scored_and_weighted() -> None:
    affinity = make_affinity(4, size=30, weight=2.5)
    off_diagonal = affinity.penalty[~np.eye(30, dtype=bool)]

    assert affinity.informativeness.mean() == pytest.approx(0.0, abs=1e-12)
    assert affinity.informativeness.std() == pytest.approx(1.0)
    assert off_diagonal.mean() == pytest.approx(0.0, abs=1e-12)
    assert off_diagonal.std() == pytest.approx(2.5)
    assert not affinity.penalty.diagonal().any()
    assert np.allclose(affinity.penalty, affinity.penalty.T)


def test_similarity_is_the_cosine() -> None:
    features = np.array([[1.0, 0.0], [10.0, 0.0], [0.0, 3.0], [-2.0, 0.0]])
    penalty = Affinity.from_features(np.zeros(4), features, 1.0).penalty

    same, orthogonal, opposite = penalty[0, 1], penalty[0, 2], penalty[0, 3]
    assert same > orthogonal > opposite
    assert same - orthogonal == pytest.approx(orthogonal - opposite)


def test_first_member_is_fitted_by_informativeness_alone() -> None:
    affinity = make_affinity(8)

    assert np.array_equal(affinity.fit(()), affinity.informativeness)


def equal_features() -> FloatArray:
    return np.tile([0.1, 0.7, -0.3, 1 / 3, 0.9], (50, 1))


@pytest.mark.parametrize("features", [np.zeros((50, 5)), equal_features(), np.empty((50, 0))])
def test_features_that_tell_nothing_apart_make_no_penalty(features: FloatArray) -> None:
    affinity = Affinity.from_features(np.arange(50.0), features, 1.0)

    assert np.abs(affinity.penalty).max() < 1e-6
    assert np.isfinite(affinity.informativeness).all()


@pytest.mark.parametrize("score", [0.0, 0.1, -1e9, 1 / 3])
def test_equal_info_scores_leave_informativeness_at_zero(score: float) -> None:
    affinity = Affinity.from_features(np.full(50, score), np.eye(50), 1.0)

    assert np.abs(affinity.informativeness).max() < 1e-6


def test_tiny_but_real_differences_are_still_told_apart() -> None:
    scores = np.array([1.0, 2.0, 3.0]) * 1e-9

    informativeness = Affinity.from_features(scores, np.eye(3), 1.0).informativeness

    assert informativeness == pytest.approx([-1.2247, 0.0, 1.2247], abs=1e-3)


def test_single_candidate_has_no_one_to_resemble() -> None:
    affinity = Affinity.from_features(np.array([0.4]), np.array([[1.0, 2.0]]), 1.0)

    assert affinity.penalty.tolist() == [[0.0]]
    assert affinity.objective([0]) == 0.0


def exchange_naively(affinity: Affinity, members: Sequence[int], groups: IndexArray, allowed: IndexArray) -> list[int]:
    """The same sums, one member at a time."""
    chosen, scale = list(members), 2.0 / max(len(members) - 1, 1)
    while True:
        pull = affinity.penalty[:, chosen].sum(axis=1)
        gains = np.full((len(chosen), len(allowed)), -np.inf)
        for place, member in enumerate(chosen):
            fits = affinity.informativeness[allowed] - scale * (pull[allowed] - affinity.penalty[allowed, member])
            stays = affinity.informativeness[member] - scale * pull[member]
            gains[place] = np.where(groups[allowed] == groups[member], fits - stays, -np.inf)
        gains[:, np.isin(allowed, chosen)] = -np.inf
        swapped, outsider = divmod(int(gains.argmax()), len(allowed))
        if not gains[swapped, outsider] > 1e-9:
            return chosen
        chosen[swapped] = int(allowed[outsider])


@given(seed=st.integers(0, 10_000), size=st.integers(1, 12))
def test_exchange_equals_the_naive_loop(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    groups, affinity = np.arange(60) % 3, make_affinity(seed, size=60)
    allowed = np.flatnonzero(rng.random(60) < 0.6)
    start = rng.permutation(60)[:size].tolist()

    if len(allowed):
        assert exchange(affinity, start, groups, allowed) == exchange_naively(affinity, start, groups, allowed)
