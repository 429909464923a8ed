import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.judging.judgement import EvaluationRows, Judgement, judge
from lens_engine.judging.outcome import Dropped, Finished, Outcome
from lens_engine.judging.race import Incumbents
from lens_engine.judging.ranker import Ranker
from lens_engine.judging.score import Score, rank_key
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
def ranker(task: Task, make_examples: Callable[..., Any], make_meter: Callable[..., Any]) -> Callable[..., Ranker]:
    """A ranker of permutations of 12 examples on 60 rows."""
    demonstrations = make_examples({"negative": 6, "positive": 6}, stem="demonstration")
    rows = EvaluationRows(task, tuple(make_examples({"negative": 30, "positive": 30}, first_row=12)))

    def make(*, calibrated: bool = False) -> Ranker:
        return Ranker(make_meter(TableScorer(skilled_log_prob)), demonstrations, rows, calibrated)

    return make


def judge_all(ranker: Ranker) -> list[Judgement]:
    prefixes = ranker.rows.task.render_permutations(ranker.examples, PERMUTATIONS)
    return judge(ranker.meter, prefixes, ranker.rows, calibrated=ranker.calibrated)


def find_finished(outcomes: list[Outcome]) -> dict[int, Finished]:
    return {number: outcome for number, outcome in enumerate(outcomes) if isinstance(outcome, Finished)}


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("places", [1, 3])
def test_race_finds_the_best_for_fewer_pairs(places: int, calibrated: bool, ranker: Any) -> None:
    raced, whole = ranker(calibrated=calibrated), ranker(calibrated=calibrated)

    finished = find_finished(raced.race(PERMUTATIONS, Incumbents(), places))

    judgements = judge_all(whole)
    scores = [Score.of(judgement) for judgement in judgements]
    ranked = sorted(range(len(PERMUTATIONS)), key=lambda one: rank_key(PERMUTATIONS[one], scores[one]))
    for one in ranked[:places]:
        assert finished[one].score == scores[one]
        assert finished[one].judgement.margins.tobytes() == judgements[one].margins.tobytes()
    assert whole.meter.scorer.num_pairs == len(PERMUTATIONS) * (60 + calibrated)
    assert raced.meter.scorer.num_pairs < whole.meter.scorer.num_pairs


def test_dropped_permutation_could_not_have_been_the_best(ranker: Any) -> None:
    outcomes = ranker().race(PERMUTATIONS, Incumbents(), 1)
    dropped = {number: outcome for number, outcome in enumerate(outcomes) if isinstance(outcome, Dropped)}

    assert dropped
    best = max(outcome.score.correct for outcome in find_finished(outcomes).values())
    judgements = judge_all(ranker())
    for number, outcome in dropped.items():
        assert Score.of(judgements[number]).correct <= outcome.most_correct < best
        assert outcome.charged_rows == 60


def test_all_are_judged_at_once_where_there_is_a_place_for_each(ranker: Any) -> None:
    made = ranker()

    finished = find_finished(made.race(PERMUTATIONS[:4], Incumbents(), 4))

    assert made.meter.scorer.calls == [(4, 60, 2)]
    assert [outcome.charged_rows for outcome in finished.values()] == [60] * 4
    assert np.array([outcome.judgement.margins for outcome in finished.values()]).shape == (4, 60)


def test_no_permutations_have_no_outcomes(ranker: Any) -> None:
    assert ranker().race([], Incumbents(), 1) == []
