from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.config import Contribution, FilteringOptions
from lens_engine.metering.meter import Meter
from lens_engine.method.diversity import Affinity, exchange
from lens_engine.method.filtering import Filter, FilterState
from lens_engine.method.infoscore import contributions, info_scores
from lens_engine.prompt.template import Task
from lens_engine.rows.plan import plan_rounds
from lens_engine.testing import TableScorer
from lens_engine.types import Example, FloatArray, IndexArray

Make = Callable[..., Any]

OPTIONS = FilteringOptions(rho=2.0, keep=6, initial_score_size=3, max_score_size=20)


@pytest.fixture(scope="module")
def candidates(make_examples: Callable[..., list[Example]]) -> list[Example]:
    return make_examples({"negative": 30, "positive": 30})


@pytest.fixture(scope="module")
def score_set(make_examples: Callable[..., list[Example]]) -> list[Example]:
    return make_examples({"negative": 10, "positive": 10}, stem="score", first_row=100)


@pytest.fixture(scope="module")
def make_stage(task: Task, candidates: list[Example], score_set: list[Example]) -> Callable[..., Filter]:
    def make(kind: Contribution = "label", *, balanced: bool = True) -> Filter:
        options = FilteringOptions(contribution=kind)
        return Filter(task, candidates, score_set, options, balanced)

    return make


def run_all(stage: Filter, meter: Meter, options: FilteringOptions = OPTIONS) -> list[FilterState]:
    states = [FilterState.start(len(stage.candidates))]
    for plan in plan_rounds(len(stage.candidates), options):
        states.append(stage.run_round(states[-1], plan, meter))
    return states


def score_everything(stage: Filter) -> FloatArray:
    """The whole contribution matrix, scored in one go with a scorer of its own."""
    task = stage.task
    queries = [task.render_query(example.text) for example in stage.score_set]
    prefixes = [(task.render_demonstration(example),) for example in stage.candidates]
    gold = np.array([task.label_indices[example.label] for example in stage.score_set])
    scorer = TableScorer()
    one_shot, zero_shot = (scorer.score(asked, queries, task.label_spans) for asked in (prefixes, [()]))
    return contributions(stage.options.contribution, one_shot, zero_shot[0], gold)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("kind", ["label", "vocabulary"])
def test_rounds_equal_all_scored_anew(kind: Contribution, balanced: bool, make_stage: Make, make_meter: Make) -> None:
    stage = make_stage(kind, balanced=balanced)
    matrix = score_everything(stage)

    survivors = np.arange(60)
    for state, plan in zip(run_all(stage, make_meter())[1:], plan_rounds(60, OPTIONS), strict=True):
        afresh = matrix[survivors, : plan.score_size]
        survivors = survivors[stage.rank(survivors, afresh.mean(axis=1), plan.keep)]
        assert np.array_equal(state.survivors, survivors)
        assert np.allclose(state.contributions, matrix[survivors, : plan.score_size])
        assert np.allclose(state.info_scores, matrix[survivors, : plan.score_size].mean(axis=1))


def test_work_is_what_the_plan_says_and_nothing_is_scored_twice(make_stage: Make, make_meter: Make) -> None:
    asked = list[tuple[object, ...]]()

    def remember(*question: object) -> float:
        asked.append(question)
        return -1.0 - len(asked) % 7

    scorer, plans = TableScorer(remember), plan_rounds(60, OPTIONS)
    run_all(make_stage(), make_meter(scorer))

    assert scorer.num_pairs == sum((plan.candidates + 1) * plan.new_columns for plan in plans)
    assert len(set(asked)) == len(asked) == 2 * scorer.num_pairs


def test_survivors_are_halved_and_stay_in_order(make_stage: Make, make_meter: Make) -> None:
    states = run_all(make_stage(), make_meter())

    assert [len(state.survivors) for state in states] == [60, 30, 15, 8, 6]
    assert [state.contributions.shape[1] for state in states] == [0, 3, 6, 12, 20]
    assert [state.rounds_done for state in states] == [0, 1, 2, 3, 4]
    for earlier, later in pairwise(states):
        assert set(later.survivors) <= set(earlier.survivors)
        assert (np.diff(later.survivors) > 0).all()


def test_labels_keep_equal_numbers_each_round(make_stage: Make, make_meter: Make, candidates: list[Example]) -> None:
    for state in run_all(make_stage(), make_meter()):
        positive = sum(candidates[index].label == "positive" for index in state.survivors)
        assert abs(2 * positive - len(state.survivors)) <= 1


@settings(deadline=None)
@given(seed=st.integers(0, 1000), keep=st.integers(1, 60), size=st.integers(1, 60))
def test_rank_never_prefers_a_worse_one_of_the_same_label(make_stage: Make, seed: int, keep: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    survivors = np.sort(rng.choice(60, size, replace=False))
    scores = rng.integers(0, 4, size).astype(float)

    kept = make_stage().rank(survivors, scores, keep)

    assert len(kept) == len(set(kept.tolist())) == min(keep, size)
    left = np.setdiff1d(np.arange(size), kept)
    for outsider in left:
        rivals = kept[survivors[kept] % 2 == survivors[outsider] % 2]
        assert (scores[rivals] >= scores[outsider]).all()
        assert (survivors[rivals[scores[rivals] == scores[outsider]]] < survivors[outsider]).all()


def test_label_with_fewer_survivors_keeps_them_all(make_stage: Make) -> None:
    survivors = np.array([0, 2, 4, 6, 8, 9])  # a single positive one, and the worst
    scores = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])

    assert make_stage().rank(survivors, scores, 4).tolist() == [0, 1, 2, 5]


def test_round_without_new_columns_scores_nothing(make_stage: Make, make_meter: Make) -> None:
    options = FilteringOptions(rho=2.0, keep=20, initial_score_size=5, max_score_size=5)
    scorer = TableScorer()

    states = run_all(make_stage(), make_meter(scorer), options)

    assert [len(state.survivors) for state in states] == [60, 30, 20]
    assert scorer.num_pairs == 5 + 60 * 5


ZERO_SHOT = np.log(np.array([[0.2, 0.2], [0.4, 0.1]], dtype=np.float32))  # [score_examples, labels]
ONE_SHOT = np.log(np.array([[[0.1, 0.3], [0.4, 0.1]], [[0.3, 0.1], [0.2, 0.6]]], dtype=np.float32))
GOLD = np.array([1, 0])


def score(kind: Contribution) -> FloatArray:
    return contributions(kind, ONE_SHOT, ZERO_SHOT, GOLD)


def test_label_contribution_is_the_gain_within_the_label_set() -> None:
    by_hand = [[0.3 / 0.4 - 0.5, 0.4 / 0.5 - 0.4 / 0.5], [0.1 / 0.4 - 0.5, 0.2 / 0.8 - 0.4 / 0.5]]

    assert score("label") == pytest.approx(np.array(by_hand), abs=1e-6)


def test_vocabulary_contribution_is_the_gain_in_the_full_vocabulary() -> None:
    by_hand = [[0.3 - 0.2, 0.4 - 0.4], [0.1 - 0.2, 0.2 - 0.4]]

    assert score("vocabulary") == pytest.approx(np.array(by_hand), abs=1e-6)


@given(shift=st.floats(-500.0, 0.0))
def test_label_contribution_survives_very_small_probabilities(shift: float) -> None:
    shifted = contributions("label", ONE_SHOT + np.float32(shift), ZERO_SHOT, GOLD)

    assert shifted == pytest.approx(score("label"), abs=1e-3)


def test_contribution_of_an_example_to_itself_is_left_out() -> None:
    matrix = np.array([[np.nan, 0.2, 0.4], [0.5, np.nan, 0.1], [0.3, 0.3, 0.0]])

    assert info_scores(matrix) == pytest.approx([0.3, 0.3, 0.2])
    assert info_scores(matrix[:, :1]).tolist() == [0.0, 0.5, 0.3]  # the first is the whole score set


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


@pytest.mark.parametrize("seed", range(20))
def test_best_of_many_starts_is_the_brute_force_optimum(seed: int) -> None:
    affinity = make_affinity(seed)
    found = max(affinity.objective(exchange(affinity, random_start(start), GROUPS, EVERYONE)) for start in range(40))

    assert found == pytest.approx(max(map(affinity.objective, every_balanced_set())), abs=1e-9)


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


EQUAL = np.tile([0.1, 0.7, -0.3, 1 / 3, 0.9], (50, 1))


@pytest.mark.parametrize("features", [np.zeros((50, 5)), EQUAL, np.empty((50, 0))])
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
