from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.method.judgement import EvaluationRows, Judgement, judge
from lens_engine.method.objective import PromptObjective, Score, rank_key
from lens_engine.method.ranker import Dropped, Finished, Ranker
from lens_engine.rows.plan import plan_rungs
from lens_engine.testing import TableScorer
from lens_engine.types import Example, Permutation

Make = Callable[..., Any]
OBJECTIVES = (PromptObjective(is_smoothed=False), PromptObjective(), PromptObjective("macro_f1"))


@pytest.fixture(scope="module")
def rows(make_examples: Make, task: Any) -> EvaluationRows:
    return EvaluationRows(task, tuple(make_examples({"negative": 12, "positive": 4}, stem="row")))


@pytest.fixture(scope="module")
def candidates(make_examples: Make) -> list[Example]:
    found: list[Example] = make_examples({"negative": 30, "positive": 30}, stem="candidate", first_row=100)
    return found


def make_permutations(count: int) -> list[Permutation]:
    rng = np.random.default_rng(0)
    return [tuple(int(one) for one in rng.permutation(60)[:4]) for _ in range(count)]


def test_spread_order_has_labels_in_proportion_from_the_start(rows: EvaluationRows) -> None:
    order = rows.spread_order

    assert sorted(order.tolist()) == list(range(16))
    for end in (4, 8, 12, 16):
        assert sum(rows.gold[order[:end]]) == end // 4


def test_halving_keeps_the_best_of_each_rung(rows: EvaluationRows, candidates: list[Example], make_meter: Make) -> None:
    permutations, scorer = make_permutations(16), TableScorer()
    ranker = Ranker(make_meter(scorer), candidates, rows, OBJECTIVES)

    outcomes = ranker.judge(permutations, 2, 3)

    whole = judge(make_meter(), rows.task.render_permutations(candidates, permutations), rows)
    left = list(range(16))
    charged = dict.fromkeys(left, 0)
    for end, keep in ((4, 8), (8, 4), (16, 4)):
        seen: dict[int, Judgement] = {one: whole[one].take(rows.spread_order[:end]) for one in left}
        charged |= dict.fromkeys(left, end)
        left = sorted(left, key=lambda one: rank_key(permutations[one], Score.of(seen[one])))[:keep]
    finished = {one: outcome for one, outcome in enumerate(outcomes) if isinstance(outcome, Finished)}
    assert set(finished) == set(left)
    assert {
        one: len(rows) if isinstance(outcome, Finished) else outcome.num_rows for one, outcome in enumerate(outcomes)
    } == charged
    for one in left:
        assert finished[one].score == Score.of(whole[one])
        assert list(finished[one].by_use) == [use.scores([whole[one]], is_final=True)[0] for use in OBJECTIVES]
    assert scorer.num_pairs == sum(charged.values()) == sum(rung.pairs for rung in plan_rungs(16, 16, 2, 3))


def test_halving_of_nothing_costs_nothing(rows: EvaluationRows, candidates: list[Example], make_meter: Make) -> None:
    scorer = TableScorer()
    ranker = Ranker(make_meter(scorer), candidates, rows, OBJECTIVES)

    assert (ranker.judge([], 2, 3), scorer.num_pairs) == ([], 0)


def test_without_halvings_every_row_judges(rows: EvaluationRows, candidates: list[Example], make_meter: Make) -> None:
    permutations, scorer = make_permutations(5), TableScorer()

    outcomes = Ranker(make_meter(scorer), candidates, rows, OBJECTIVES).judge(permutations)

    whole = judge(make_meter(), rows.task.render_permutations(candidates, permutations), rows)
    assert scorer.num_pairs == 5 * 16
    for outcome, judgement in zip(outcomes, whole, strict=True):
        assert isinstance(outcome, Finished)
        assert outcome.score == Score.of(judgement)


@pytest.mark.parametrize("halvings", [0, 2])
def test_permutation_is_ranked_on_rows_it_does_not_show(halvings: int, rows: EvaluationRows, make_meter: Make) -> None:
    """Rows of which a permutation shows some; one shows the first row of all, and one every row."""
    first, second, *others = rows.spread_order.tolist()
    permutations = [(first, second), tuple(others[:2]), tuple(range(16))]

    outcomes = Ranker(make_meter(), rows.examples, rows, OBJECTIVES).judge(permutations, halvings, 3)

    whole = judge(make_meter(), rows.task.render_permutations(rows.examples, permutations), rows)
    for permutation, judgement, outcome in zip(permutations[:2], whole, outcomes, strict=False):
        assert isinstance(outcome, Finished)
        kept = judgement.take(np.setdiff1d(np.arange(16), permutation))
        assert outcome.score == Score.of(kept)
    assert outcomes[2] == Dropped(16)


def test_permutation_that_shows_the_rows_of_a_rung_comes_last(rows: EvaluationRows, make_meter: Make) -> None:
    shown = tuple(rows.spread_order[:4].tolist())
    others = [tuple(rows.spread_order[place : place + 4].tolist()) for place in (4, 8, 12)]

    outcomes = Ranker(make_meter(), rows.examples, rows, OBJECTIVES).judge([shown, *others], 2, 1)

    assert outcomes[0] == Dropped(4)
    assert sum(isinstance(outcome, Finished) for outcome in outcomes) == 1
