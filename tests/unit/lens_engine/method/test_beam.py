from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from lens_engine.config import SearchOptions
from lens_engine.method.beam import Neighbourhood, SearchState, run_iteration, start_search
from lens_engine.method.diversity import Affinity
from lens_engine.method.objective import Score, rank_key
from lens_engine.method.ranker import Dropped, Finished, Outcome
from lens_engine.randomness import make_generator
from lens_engine.types import Permutation

QUOTAS = (2, 2)
PARENT = (3, 0, 9, 14)


def make_neighbourhood(
    size: int = 40, quotas: tuple[int, ...] = QUOTAS, seed: int = 0, *, takes_best: bool = False, **options: Any
) -> Neighbourhood:
    rng = np.random.default_rng(seed)
    affinity = Affinity.from_features(rng.normal(size=size), rng.normal(size=(size, 8)), 1.0)
    groups = np.arange(size) % len(quotas)
    small = {"beam_width": 4, "children": 5}
    return Neighbourhood(affinity, groups, quotas, SearchOptions(**(small | options)), takes_best)


class Judge:
    """Gives each permutation a score of its own, and remembers what it was asked.

    With `drops`, half of those that come after the first ones are dropped.
    """

    def __init__(self, rows: int = 1000, *, drops: bool = False) -> None:
        self.rows, self.drops = rows, drops
        self.asked: list[Permutation] = []

    def __call__(self, permutations: Sequence[Permutation]) -> list[Outcome]:
        least = self.rows // 2 if self.drops and self.asked else 0
        self.asked.extend(permutations)
        return [self.end(permutation, least) for permutation in permutations]

    def end(self, permutation: Permutation, least: int) -> Outcome:
        correct = hash(permutation) % self.rows
        if correct < least:
            return Dropped(self.rows)
        score = Score(correct / self.rows, 0.0)
        return Finished(score, (score,))


def run_search(neighbourhood: Neighbourhood, judge: Judge, iterations: int, seed: int = 0) -> list[SearchState]:
    initial = neighbourhood.first_permutations(make_generator(seed, "initialise"))
    width = neighbourhood.options.beam_width
    states = [start_search(initial, judge, width)]
    for iteration in range(iterations):
        states.append(run_iteration(states[-1], neighbourhood, judge, make_generator(seed, "search", iteration)))
    return states


def count_groups(permutation: Permutation, num_groups: int = 2) -> tuple[int, ...]:
    found = Counter(member % num_groups for member in permutation)
    return tuple(found[group] for group in range(num_groups))


@pytest.mark.parametrize("quotas", [(2, 2), (1, 1, 1), (4,), (3, 2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_permutation_fills_its_quotas_with_different_members(quotas: tuple[int, ...], seed: int) -> None:
    judge = Judge()
    run_search(make_neighbourhood(quotas=quotas, seed=seed), judge, iterations=4, seed=seed)

    assert len(judge.asked) > 40
    for permutation in judge.asked:
        assert count_groups(permutation, len(quotas)) == quotas
        assert len(set(permutation)) == sum(quotas)


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_no_permutation_is_evaluated_twice(seed: int, drops: bool) -> None:
    judge = Judge(drops=drops)
    last = run_search(make_neighbourhood(size=10, seed=seed), judge, iterations=8, seed=seed)[-1]

    assert len(set(judge.asked)) == len(judge.asked) == last.num_judged
    assert bool(last.dropped) == drops
    assert set(last.dropped).isdisjoint(last.scores)


def test_beam_is_the_best_of_everything_seen_and_sorted() -> None:
    last = run_search(make_neighbourhood(), Judge(), iterations=5)[-1]

    ranked = sorted(last.scores, key=lambda permutation: rank_key(permutation, last.scores[permutation]))
    assert list(last.beam) == ranked[:4]
    assert last.iterations_done == 5


@pytest.mark.parametrize("size", [1, 2, 4])
def test_neighbourhood_of_one_set_ends_when_every_order_is_known(size: int) -> None:
    judge = Judge()
    neighbourhood = make_neighbourhood(size=size, quotas=(size,), children=8)

    states = run_search(neighbourhood, judge, iterations=60)

    orders = {1: 1, 2: 2, 4: 24}[size]
    assert len(judge.asked) == len(states[-1].scores) == orders
    assert states[-1].iterations_done == 60


def find_children(neighbourhood: Neighbourhood) -> list[Permutation]:
    return neighbourhood.children([PARENT], {PARENT}, np.random.default_rng(0))


def find_replacements(neighbourhood: Neighbourhood) -> dict[int, set[int]]:
    """The new members of the children by substitution, by place."""
    found = dict[int, set[int]]()
    for child in find_children(neighbourhood):
        if set(child) != set(PARENT):
            place = next(place for place in range(4) if child[place] != PARENT[place])
            found.setdefault(place, set()).add(child[place])
    return found


def rank_rivals(neighbourhood: Neighbourhood, place: int) -> list[int]:
    """The members that may come to a place, the best fit to the others first."""
    fit = neighbourhood.affinity.fit(PARENT[:place] + PARENT[place + 1 :])
    rivals = [member for member in range(40) if member % 2 == PARENT[place] % 2 and member not in PARENT]
    return sorted(rivals, key=lambda member: -fit[member])


def test_reordering_keeps_the_members() -> None:
    neighbourhood = make_neighbourhood(children=24, first_permutations=8)

    children = [child for child in find_children(neighbourhood) if set(child) == set(PARENT)]

    assert len(set(children)) >= 5  # two members of four can be swapped in six ways
    assert all(sum(old != new for old, new in zip(PARENT, child, strict=True)) == 2 for child in children)


def test_reordering_after_a_narrow_start_reaches_every_order_at_once() -> None:
    neighbourhood = make_neighbourhood(children=92)

    children = [child for child in find_children(neighbourhood) if set(child) == set(PARENT)]

    assert {*children, PARENT} >= {(14, 9, 0, 3), (0, 3, 14, 9)}
    assert PARENT not in children


def test_substitution_by_the_letter_takes_the_best_fit_to_the_rest() -> None:
    neighbourhood = make_neighbourhood(takes_best=True, children=16)

    replacements = find_replacements(neighbourhood)

    assert replacements
    for place, found in replacements.items():
        assert found == set(rank_rivals(neighbourhood, place)[:1])


def test_substitution_draws_from_the_sixteen_best_alone() -> None:
    neighbourhood = make_neighbourhood(children=330)

    replacements = find_replacements(neighbourhood)

    for place, found in replacements.items():
        assert found <= set(rank_rivals(neighbourhood, place)[:16])
    assert max(map(len, replacements.values())) > 8


@pytest.mark.parametrize("seed", range(6))
def test_first_beam_shares_at_most_half_of_its_members(seed: int) -> None:
    neighbourhood = make_neighbourhood(size=80, quotas=(4, 4), seed=seed, beam_width=3)

    initial = neighbourhood.first_permutations(np.random.default_rng(seed))

    assert len(initial) == 3
    assert max(len(set(one) & set(other)) for one, other in combinations(initial, 2)) <= 4


def test_first_permutations_have_more_affinity_than_random_ones() -> None:
    neighbourhood = make_neighbourhood(size=80, quotas=(4, 4))
    rng = np.random.default_rng(0)

    initial = neighbourhood.first_permutations(rng)

    random = [rng.choice(80, 8, replace=False).tolist() for _ in range(200)]
    worst = min(neighbourhood.affinity.objective(permutation) for permutation in initial)
    assert worst > max(neighbourhood.affinity.objective(members) for members in random)


def test_half_of_a_wide_start_is_drawn_at_random() -> None:
    optimised, neighbourhood = make_neighbourhood(beam_width=6), make_neighbourhood(first_permutations=12)

    first = neighbourhood.first_permutations(make_generator(0, "initialise"))

    assert len(set(first)) == len(first) == 12
    assert all(count_groups(permutation) == QUOTAS for permutation in first)
    assert first[:6] == optimised.first_permutations(make_generator(0, "initialise"))
    best = max(neighbourhood.affinity.objective(permutation) for permutation in first[6:])
    assert best < neighbourhood.affinity.objective(first[0])


def test_fewer_first_permutations_than_the_beam_holds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"first_permutations is 3, fewer than beam_width \(4\)"):
        make_neighbourhood(first_permutations=3)
