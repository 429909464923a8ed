import numpy as np

from lens_engine.judging.score import Score
from lens_engine.metering.cost import Cost
from lens_engine.methods.lens.beam import SearchState
from lens_engine.methods.lens.filtering import FilterState
from lens_engine.methods.random import RandomTally
from lens_engine.result import Accuracy, Baselines, Spread, Verdict
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.run.state import Evaluation, RunState
from lens_engine.types import Permutation, Phase


def round_trip(state: RunState) -> RunState:
    checkpoint = state.to_checkpoint("print", "bfloat16", Phase.SEARCH, 4)
    read = Checkpoint.from_bytes(checkpoint.to_bytes())
    assert (read.fingerprint, read.dtype, read.phase, read.step) == ("print", "bfloat16", Phase.SEARCH, 4)
    return RunState.from_checkpoint(read)


def assert_same(one: RunState, other: RunState) -> None:
    assert one.filtering.rounds_done == other.filtering.rounds_done
    assert np.array_equal(one.filtering.survivors, other.filtering.survivors)
    assert one.filtering.contributions.tobytes() == other.filtering.contributions.tobytes()
    assert (one.search, one.assessment, one.spent, one.seconds) == (
        other.search,
        other.assessment,
        other.spent,
        other.seconds,
    )


def test_fresh_state_survives_a_checkpoint() -> None:
    fresh = RunState.start(5)

    assert fresh.filtering.survivors.tolist() == [0, 1, 2, 3, 4]
    assert_same(round_trip(fresh), fresh)


def test_everything_found_survives_a_checkpoint_to_the_last_bit() -> None:
    standings: dict[Permutation, Score] = {
        (3, 1): Score(7, 9, 1 / 3),
        (1, 3): Score(8, 9, -1e-17),
        (0, 2): Score(0, 9, -800.125, close_hits=1, close_misses=2),
    }
    accuracy = Accuracy(accuracy=2 / 3, n=9, ci95=(0.1, 0.9), macro_f1=0.1 + 0.2, calibrated_accuracy=None)
    state = RunState(
        FilterState(2, np.array([1, 4, 7]), np.array([[1 / 3, 0.1], [1e-300, -0.0], [0.2, 0.7]])),
        SearchState(3, ((1, 3), (3, 1)), standings, np.array([[1 / 3, -0.0], [1e-300, 0.1]]), {(2, 3): 6}),
        Evaluation(
            done=("confirmation", "test"),
            skipped=("zero_shot",),
            chosen=(1, 3),
            confirmation=accuracy,
            pooled_standings=(Score(8, 18, 0.1), Score(9, 18, 0.1, close_hits=3)),
            test=accuracy,
            test_correct=(True, False),
            baselines=Baselines(zero_shot=accuracy),
            rivals=RandomTally(drawn=8, best=3, standing=Score(3, 9, 0.1)),
            verdict=Verdict(better_than_random_and_validation=True, only_lens_right=3, only_rival_right=1, p_value=0.6),
            order=Spread(mean=0.1, sd=0.2, min=0.0, max=1.0, permutations=3, n=9),
        ),
        Cost(123, 456),
        seconds=1.1,
    )

    again = round_trip(state)

    assert_same(again, state)
    assert again.search is not None
    assert list(again.search.standings) == list(standings)
    assert again.search.best == (1, 3)
    assert state.search is not None
    assert again.search.margins.tobytes() == state.search.margins.tobytes()
    assert again.assessment.confirmed == 2
