from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.plan import plan_rungs
from lens_engine.search.judgement import EvaluationRows, Judgement, judge
from lens_engine.search.objective import PromptObjective
from lens_engine.search.ranker import Finished, Ranker
from lens_engine.search.score import Score, rank_key
from lens_engine.testing import TableScorer
from lens_engine.types import Example, Permutation

Make = Callable[..., Any]
PAPER = PromptObjective(ties_by_margin=True)


@pytest.fixture(scope="module")
def rows(make_examples: Make, task: Any) -> EvaluationRows:
    return EvaluationRows(task, tuple(make_examples({"negative": 12, "positive": 4}, stem="row")))


@pytest.fixture(scope="module")
def candidates(make_examples: Make) -> list[Example]:
    found: list[Example] = make_examples({"negative": 30, "positive": 30}, stem="candidate")
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
    ranker = Ranker(make_meter(scorer), candidates, rows, PAPER)

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
        np.testing.assert_array_equal(finished[one].judgement.margins, whole[one].margins)
    assert scorer.num_pairs == sum(charged.values()) == sum(rung.pairs for rung in plan_rungs(16, 16, 2, 3))


def test_halving_of_no_permutations_costs_nothing(
    rows: EvaluationRows, candidates: list[Example], make_meter: Make
) -> None:
    scorer = TableScorer()
    ranker = Ranker(make_meter(scorer), candidates, rows, PAPER)

    assert (ranker.judge([], 2, 3), scorer.num_pairs) == ([], 0)


def test_without_halvings_each_is_judged_on_every_row(
    rows: EvaluationRows, candidates: list[Example], make_meter: Make
) -> None:
    permutations, scorer = make_permutations(5), TableScorer()

    outcomes = Ranker(make_meter(scorer), candidates, rows, PAPER).judge(permutations)

    whole = judge(make_meter(), rows.task.render_permutations(candidates, permutations), rows)
    assert scorer.num_pairs == 5 * 16
    for outcome, judgement in zip(outcomes, whole, strict=True):
        assert isinstance(outcome, Finished)
        assert outcome.score == Score.of(judgement)
        np.testing.assert_array_equal(outcome.judgement.label_log_probs, judgement.label_log_probs)
