import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.judging.judgement import EvaluationRows, judge
from lens_engine.judging.race import Incumbents
from lens_engine.judging.ranker import Placing, Ranker
from lens_engine.judging.score import rank_key, stand
from lens_engine.methods.permutations import render_permutations
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Permutation

PERMUTATIONS: list[Permutation] = [(first, (first + step) % 12) for first in range(12) for step in (1, 5)]


def skilled_log_prob(prefix: tuple[str, ...], query: str, span: str) -> float:
    """The later the first demonstration, the surer the gold label; rows of even number are negative."""
    row, skill = re.search(r"\d+", query), re.search(r"\d+", prefix[0])
    gold = "POSITIVE" if row and int(row[0]) % 2 else "NEGATIVE"
    lift = 0.5 * int(skill[0]) if row and skill and span.strip() == gold else 0.0
    return hashed_log_prob(prefix, query, span) + lift - 10.0


@pytest.fixture
def rank(task: Task, make_examples: Callable[..., Any], make_meter: Callable[..., Any]) -> Callable[..., Any]:
    """Places permutations of 12 examples on 60 rows; returns the ranker, its scorer and the placings."""
    demonstrations = make_examples({"negative": 6, "positive": 6}, stem="demonstration")
    rows = EvaluationRows(task, tuple(make_examples({"negative": 30, "positive": 30}, first_row=12)))

    def run(
        permutations: list[Permutation], places: int, *, calibrated: bool = False, elimination: bool = True
    ) -> tuple[Ranker, TableScorer, list[Placing]]:
        scorer = TableScorer(skilled_log_prob)
        ranker = Ranker(make_meter(scorer), demonstrations, rows, calibrated, elimination)
        return ranker, scorer, ranker.place(permutations, Incumbents(), places)

    return run


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("places", [1, 3])
def test_best_are_placed_as_when_all_are_judged_and_for_fewer_pairs(places: int, calibrated: bool, rank: Any) -> None:
    _, raced, placings = rank(PERMUTATIONS, places, calibrated=calibrated)
    _, whole, all_placings = rank(PERMUTATIONS, places, calibrated=calibrated, elimination=False)

    ranked = sorted(range(len(PERMUTATIONS)), key=lambda one: rank_key(PERMUTATIONS[one], all_placings[one].standing))
    for one in ranked[:places]:
        assert placings[one].standing == all_placings[one].standing
        assert placings[one].margins.tobytes() == all_placings[one].margins.tobytes()
    assert whole.num_pairs == len(PERMUTATIONS) * (60 + calibrated)
    assert raced.num_pairs < whole.num_pairs


def test_dropped_permutation_has_no_standing_but_what_it_could_have_had(rank: Any) -> None:
    ranker, _, placings = rank(PERMUTATIONS, 1)
    dropped = [number for number, placing in enumerate(placings) if placing.standing is None]

    assert dropped
    best = max(placing.standing.correct for placing in placings if placing.standing)
    for number in dropped:
        prefixes = render_permutations(ranker.rows.task, ranker.examples, [PERMUTATIONS[number]])
        (judgement,) = judge(ranker.meter, prefixes, ranker.rows, calibrated=False)
        assert stand(judgement).correct <= placings[number].most_correct < best
        assert placings[number].margins.shape == (0,)


@pytest.mark.parametrize("elimination", [False, True])
def test_all_are_judged_at_once_where_there_is_a_place_for_each(elimination: bool, rank: Any) -> None:
    _, scorer, placings = rank(PERMUTATIONS[:4], 4, elimination=elimination)

    assert scorer.calls == [(4, 60, 2)]
    assert [placing.most_correct for placing in placings] == [placing.standing.correct for placing in placings]
    assert np.array([placing.margins for placing in placings]).shape == (4, 60)


def test_no_permutations_have_no_placings(rank: Any) -> None:
    assert rank([], 1)[2] == []
