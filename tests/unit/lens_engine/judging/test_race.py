"""The race through the real functions: the same best, with the same scores, for fewer pairs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.outcome import Dropped, Finished
from lens_engine.judging.race import Incumbents, Race
from lens_engine.judging.score import Score, rank_key
from lens_engine.types import IndexArray


class Judge:
    """Answers from a table  # [contenders, rows, labels] and counts the pairs it was asked for."""

    def __init__(self, log_probs: Any, gold: IndexArray, content_free: Any = None) -> None:
        self.log_probs, self.gold, self.content_free = log_probs, gold, content_free
        self.pairs = np.zeros(log_probs.shape[:2], dtype=int)
        self.times_free = np.zeros(len(log_probs), dtype=int)
        self.calls = 0

    def __call__(self, numbers: Sequence[int], rows: IndexArray, is_first: bool) -> list[Judgement]:
        self.calls += 1
        self.pairs[np.ix_(numbers, rows)] += 1
        self.times_free[list(numbers)] += is_first
        free = self.content_free if is_first else None
        return [
            Judgement(self.log_probs[one][rows], self.gold[rows], None if free is None else free[one])
            for one in numbers
        ]

    def whole(self, one: int) -> Judgement:
        free = None if self.content_free is None else self.content_free[one]
        return Judgement(self.log_probs[one], self.gold, free)


def make_judge(
    rng: np.random.Generator,
    contenders: int,
    rows: int = 40,
    labels: int = 3,
    *,
    steps: int | None = None,
    calibrated: bool = False,
) -> Judge:
    """Rows of different difficulty, permutations of different skill; with few `steps`, full of ties."""
    gold = rng.integers(labels, size=rows)
    skill, ease = rng.normal(0.0, 0.4, size=(contenders, 1, 1)), rng.normal(0.8, 1.0, size=(1, rows, 1))
    values = rng.normal(size=(contenders, rows, labels)) * 0.7
    values += (skill + ease) * (np.arange(labels) == gold[:, None])
    free = rng.normal(size=(contenders, labels)) * 0.3
    if steps is not None:
        values, free = np.round(values * steps) / steps, np.round(free * steps) / steps
    log_probs = (values - 20.0).astype(np.float32)
    return Judge(log_probs, gold, (free - 20.0).astype(np.float32) if calibrated else None)


def hold_race(judge: Judge, num_incumbents: int, places: int, least_block: int = 4) -> dict[int, Score]:
    """The scores of the best by a race in which the first contenders of the table are the incumbents."""
    total, rows = judge.log_probs.shape[:2]
    known = [judge.whole(one) for one in range(num_incumbents)]
    incumbents = Incumbents(
        tuple(Score.of(one).correct for one in known), np.array([one.margins for one in known]).reshape(-1, rows)
    )

    def ask(numbers: Sequence[int], places: IndexArray, is_first: bool) -> list[Judgement]:
        return judge([number + num_incumbents for number in numbers], places, is_first)

    race = Race(ask, incumbents.order_rows(rows), least_block, incumbents.correct, places)
    outcomes = race.run(total - num_incumbents)
    scores = {one: Score.of(judgement) for one, judgement in enumerate(known)}
    for number, outcome in enumerate(outcomes, start=num_incumbents):
        truth = Score.of(judge.whole(number))
        if isinstance(outcome, Dropped):
            assert truth.correct <= outcome.most_correct < rows
            assert outcome.charged_rows == rows
            assert judge.pairs[number].sum() < rows
        else:
            scores[number] = outcome.score
            assert (judge.pairs[number] == 1).all()
    return best_of(scores, places)


def best_of(scores: dict[int, Score], places: int) -> dict[int, Score]:
    ranked = sorted(scores, key=lambda one: rank_key((one,), scores[one]))
    return {one: scores[one] for one in ranked[:places]}


def judge_all(judge: Judge, places: int) -> dict[int, Score]:
    return best_of({one: Score.of(judge.whole(one)) for one in range(len(judge.log_probs))}, places)


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    incumbents=st.integers(0, 8),
    contenders=st.integers(1, 24),
    rows=st.integers(1, 50),
    labels=st.integers(2, 5),
    places=st.integers(1, 10),
    steps=st.sampled_from([None, 1, 2]),
    calibrated=st.booleans(),
    least_block=st.integers(1, 20),
)
def test_best_and_their_scores_are_those_of_judging_everything(
    seed: int,
    incumbents: int,
    contenders: int,
    rows: int,
    labels: int,
    places: int,
    steps: int | None,
    calibrated: bool,
    least_block: int,
) -> None:
    rng = np.random.default_rng(seed)
    judge = make_judge(rng, incumbents + contenders, rows, labels, steps=steps, calibrated=calibrated)

    found = hold_race(judge, incumbents, places, least_block)

    expected = judge_all(judge, places)
    assert list(found.items()) == list(expected.items())
    assert judge.pairs.max() == 1
    assert (judge.times_free[incumbents:] == 1).all()


def make_generation(rng: np.random.Generator, parents: int, children: int, *, calibrated: bool) -> Judge:
    """The best of three times as many are the parents; each child lies between its parent and another permutation."""
    pool = make_judge(rng, 3 * parents + children, rows=100, labels=2, calibrated=calibrated)
    ranked = sorted(range(3 * parents), key=lambda one: rank_key((one,), Score.of(pool.whole(one))))
    beam, others = pool.log_probs[ranked[:parents]], pool.log_probs[3 * parents :]
    born = 0.4 * beam[np.arange(children) % parents] + 0.6 * others
    free = pool.content_free
    kept = None if free is None else free[: parents + children]
    return Judge(np.concatenate([beam, born]), pool.gold, kept)


@pytest.mark.parametrize("places", [1, 4, 8])
@pytest.mark.parametrize("calibrated", [False, True])
def test_race_saves_pairs_where_children_resemble_their_parents(places: int, calibrated: bool) -> None:
    saved = []
    for seed in range(20):
        judge = make_generation(np.random.default_rng(seed), places, 8 * places, calibrated=calibrated)
        assert hold_race(judge, places, places, least_block=16) == judge_all(judge, places)
        saved.append(1.0 - float(judge.pairs[places:].mean()))

    assert min(saved) >= 0.0
    assert float(np.mean(saved)) > 0.15


def test_contender_that_can_tie_stays_and_may_win_by_margin() -> None:
    """Dropping at equality would lose the best: all are right on the same two of four rows, the last by far."""
    margins = np.array([[1, 1, -1, -1], [2, 2, -1, -1], [5, 5, -1, -1]], dtype=np.float32)
    log_probs = np.stack([margins - 9.0, np.full_like(margins, -9.0)], axis=-1)
    judge = Judge(log_probs, np.zeros(4, dtype=np.intp))

    best = hold_race(judge, num_incumbents=1, places=1, least_block=1)

    assert best == {2: Score(2, 4, 2.0)}
    assert judge.pairs[1:].all()


def test_one_row_short_is_dropped_at_the_row_that_settles_it() -> None:
    margins = np.array([[-1, -1, -1, 1, 1, 1, 1, 1]], dtype=np.float32)
    log_probs = np.stack([margins - 9.0, np.full_like(margins, -9.0)], axis=-1)
    judge = Judge(log_probs, np.zeros(8, dtype=np.intp))

    outcomes = Race(judge, np.arange(8), least_block=1, incumbents=(6,), places=1).run(1)

    assert outcomes == [Dropped(5, charged_rows=8)]
    assert judge.pairs.sum() < 8


def test_leaders_drop_the_rest_where_no_incumbent_is_known() -> None:
    skilled, rows = 3, 60
    margins = np.where(np.arange(rows) % 6 == 0, -1.0, 1.0) * np.ones((20, 1))
    margins[skilled] = 1.0
    log_probs = np.stack([margins - 9.0, np.full_like(margins, -9.0)], axis=-1).astype(np.float32)
    judge = Judge(log_probs, np.zeros(rows, dtype=np.intp))

    outcomes = Race(judge, np.arange(rows), least_block=8, incumbents=(), places=1).run(20)

    assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Finished)] == [skilled]
    assert judge.pairs[skilled].sum() == rows
    assert judge.calls == 2


def test_short_rows_are_judged_in_one_block() -> None:
    judge = make_judge(np.random.default_rng(0), 6, rows=20)

    outcomes = Race(judge, np.arange(20), least_block=16, incumbents=(20,), places=1).run(6)

    assert judge.calls == 1
    assert all(isinstance(outcome, Finished) for outcome in outcomes)


def test_rows_are_ordered_by_misses_then_mean_margin_then_place() -> None:
    margins = np.array([[1.0, -2.0, 3.0, -1.0, 1.0], [1.0, -2.0, -1.0, -4.0, 1.0]])

    assert Incumbents((3, 2), margins).order_rows(5).tolist() == [3, 1, 2, 0, 4]
    assert Incumbents((3,)).order_rows(3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("make_order", [np.arange, lambda n: np.arange(n)[::-1]])
def test_judgement_of_a_finisher_is_in_the_rows_own_order(make_order: Callable[[int], IndexArray]) -> None:
    judge = make_judge(np.random.default_rng(1), 1, rows=30)

    (outcome,) = Race(judge, make_order(30), least_block=7, incumbents=(0,), places=1).run(1)

    assert isinstance(outcome, Finished)
    assert outcome.judgement.label_log_probs.tobytes() == judge.log_probs[0].tobytes()
    assert (outcome.judgement.gold == judge.gold).all()
