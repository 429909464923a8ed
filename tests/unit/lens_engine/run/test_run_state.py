from collections.abc import Callable

import numpy as np
import pytest

from lens_engine.config import SelectionConfig
from lens_engine.metering.cost import Cost
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.run.preparation import prepare_run
from lens_engine.run.state import ComparisonState, JudgedPrompt, RunState
from lens_engine.scoring.spending import Paid
from lens_engine.search.lens.beam import SearchState
from lens_engine.search.lens.filtering import FilterState
from lens_engine.search.lens.method import Lens, LensState
from lens_engine.search.random import RandomTally
from lens_engine.search.score import Score
from lens_engine.testing import TableScorer
from lens_engine.types import Permutation, Phase, StopReason, StoredLogProbs


@pytest.fixture(scope="module")
def lens(make_planted_problem: Callable[..., Problem], make_config: Callable[..., SelectionConfig]) -> Lens:
    method = prepare_run(make_planted_problem(), TableScorer(), make_config()).method
    assert isinstance(method, Lens)
    return method


def round_trip(lens: Lens, state: RunState[LensState]) -> RunState[LensState]:
    checkpoint = state.to_checkpoint(lens, "print", "bfloat16", Phase.SEARCH, 4)
    read = Checkpoint.from_bytes(checkpoint.to_bytes())
    assert (read.fingerprint, read.dtype, read.phase, read.step) == ("print", "bfloat16", Phase.SEARCH, 4)
    return RunState.from_checkpoint(lens, read)


def assert_same(one: RunState[LensState], other: RunState[LensState]) -> None:
    assert one.method.filtering.rounds_done == other.method.filtering.rounds_done
    assert np.array_equal(one.method.filtering.survivors, other.method.filtering.survivors)
    assert one.method.filtering.contributions.tobytes() == other.method.filtering.contributions.tobytes()
    assert one.method.search == other.method.search
    assert (one.chosen, one.ended, one.comparison) == (other.chosen, other.ended, other.comparison)
    assert one.cut_off == other.cut_off
    assert (one.spent, one.seconds, one.paid) == (other.spent, other.seconds, other.paid)


def test_fresh_state_survives_a_checkpoint(lens: Lens) -> None:
    fresh = RunState(lens.start())

    assert fresh.method.filtering.survivors.tolist() == list(range(len(lens.run.rows.candidates)))
    assert_same(round_trip(lens, fresh), fresh)


def test_everything_found_survives_a_checkpoint_to_the_last_bit(lens: Lens) -> None:
    scores: dict[Permutation, Score] = {
        (2, 1): Score(7, 9, 1 / 3),
        (1, 2): Score(8, 9, -1e-17),
        (0, 2): Score(0, 9, -800.125, close_hits=1, close_misses=2),
    }
    judged = JudgedPrompt(permutation=(4, 7), log_probs=StoredLogProbs.of(np.array([[-0.1, -1e-30]], dtype=np.float32)))
    state = RunState(
        LensState(
            FilterState(2, np.array([1, 4, 7]), np.array([[1 / 3, 0.1], [1e-300, -0.0], [0.2, 0.7]])),
            SearchState(
                3,
                ((1, 2), (2, 1)),
                scores,
                ((2, 0),),
                log_probs={one: np.full((20, 2), -index / 3, dtype=np.float32) for index, one in enumerate(scores)},
            ),
        ),
        (4, 7),
        StopReason.BUDGET,
        ComparisonState(
            done=("confirmation", "test"),
            skipped=("zero_shot",),
            choice_pairs=77,
            choice_tokens=7_700,
            judged=(judged,),
            zero_shot=judged.model_copy(update={"permutation": ()}),
            tested=(judged,),
            tally=RandomTally(
                drawn=8,
                accuracies=(0.1 + 0.2,),
                best={"prompt": 3},
                scores={"prompt": Score(3, 9, 0.1, log_loss=1 / 3)},
                log_probs={"prompt": judged.log_probs},
            ),
        ),
        Cost(123, 456),
        seconds=1.1,
        paid=Paid(0.1 + 0.2, 3, 4, 1),
        cut_off=Phase.SEARCH,
    )

    again = round_trip(lens, state)

    assert_same(again, state)
    assert again.method.search is not None
    assert list(again.method.search.scores) == list(scores)
    assert lens.choice(again.method) == (4, 7)
