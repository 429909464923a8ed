from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.config import BudgetOptions, Contribution, FilteringOptions
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.plan import plan_rounds
from lens_engine.search.lens.filtering import Filter, FilterState
from lens_engine.search.lens.infoscore import contributions
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer
from lens_engine.types import Example, FloatArray

MakeMeter = Callable[..., Meter]
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
def test_incremental_rounds_equal_scoring_everything_afresh(
    kind: Contribution, balanced: bool, make_stage: Callable[..., Filter], make_meter: MakeMeter
) -> None:
    stage = make_stage(kind, balanced=balanced)
    matrix = score_everything(stage)

    survivors = np.arange(60)
    for state, plan in zip(run_all(stage, make_meter())[1:], plan_rounds(60, OPTIONS), strict=True):
        afresh = matrix[survivors, : plan.score_size]
        survivors = survivors[stage.rank(survivors, afresh.mean(axis=1), plan.keep)]
        assert np.array_equal(state.survivors, survivors)
        assert np.allclose(state.contributions, matrix[survivors, : plan.score_size])
        assert np.allclose(state.info_scores, matrix[survivors, : plan.score_size].mean(axis=1))


def test_work_is_what_the_plan_says_and_nothing_is_scored_twice(
    make_stage: Callable[..., Filter], make_meter: MakeMeter
) -> None:
    asked = list[tuple[object, ...]]()

    def remember(*question: object) -> float:
        asked.append(question)
        return -1.0 - len(asked) % 7

    scorer, plans = TableScorer(remember), plan_rounds(60, OPTIONS)
    run_all(make_stage(), make_meter(scorer))

    assert scorer.num_pairs == sum(plan.pairs + plan.new_columns for plan in plans)
    assert len(set(asked)) == len(asked) == 2 * scorer.num_pairs


def test_survivors_are_halved_and_stay_in_order(make_stage: Callable[..., Filter], make_meter: MakeMeter) -> None:
    states = run_all(make_stage(), make_meter())

    assert [len(state.survivors) for state in states] == [60, 30, 15, 8, 6]
    assert [state.contributions.shape[1] for state in states] == [0, 3, 6, 12, 20]
    assert [state.rounds_done for state in states] == [0, 1, 2, 3, 4]
    for earlier, later in pairwise(states):
        assert set(later.survivors) <= set(earlier.survivors)
        assert (np.diff(later.survivors) > 0).all()


def test_labels_keep_equal_numbers_in_every_round(
    make_stage: Callable[..., Filter], make_meter: MakeMeter, candidates: list[Example]
) -> None:
    for state in run_all(make_stage(), make_meter()):
        positive = sum(candidates[index].label == "positive" for index in state.survivors)
        assert abs(2 * positive - len(state.survivors)) <= 1


def test_ties_go_to_the_earlier_rows(make_stage: Callable[..., Filter], make_meter: MakeMeter) -> None:
    constant = TableScorer(lambda *_: -1.0)

    assert run_all(make_stage(), make_meter(constant))[-1].survivors.tolist() == [0, 1, 2, 3, 4, 5]


@settings(deadline=None)
@given(seed=st.integers(0, 1000), keep=st.integers(1, 60), size=st.integers(1, 60))
def test_rank_never_prefers_a_worse_one_of_the_same_label(
    make_stage: Callable[..., Filter], seed: int, keep: int, size: int
) -> None:
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


def test_label_with_fewer_survivors_keeps_them_all(make_stage: Callable[..., Filter]) -> None:
    survivors = np.array([0, 2, 4, 6, 8, 9])  # a single positive one, and the worst
    scores = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])

    assert make_stage().rank(survivors, scores, 4).tolist() == [0, 1, 2, 5]


def test_round_without_new_columns_scores_nothing(make_stage: Callable[..., Filter], make_meter: MakeMeter) -> None:
    options = FilteringOptions(rho=2.0, keep=20, initial_score_size=5, max_score_size=5)
    scorer = TableScorer()

    states = run_all(make_stage(), make_meter(scorer), options)

    assert [len(state.survivors) for state in states] == [60, 30, 20]
    assert scorer.num_pairs == 5 + 60 * 5


def test_stop_within_a_round_leaves_the_old_state(make_stage: Callable[..., Filter], make_meter: MakeMeter) -> None:
    stage, start = make_stage(), FilterState.start(60)
    meter = make_meter(budget=BudgetOptions(max_pairs=100))

    with pytest.raises(Stopped):
        stage.run_round(start, plan_rounds(60, OPTIONS)[0], meter)

    assert (start.rounds_done, start.contributions.shape) == (0, (60, 0))
