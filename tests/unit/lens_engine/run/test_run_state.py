import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.classifier.candidates import Candidate
from lens_engine.metering.prices import Cost
from lens_engine.run.classifying import Classifying
from lens_engine.run.judge import Judging
from lens_engine.run.preparation import PreparedRun, prepare_run
from lens_engine.run.state import Checkpoint, RunState, TestedFigures
from lens_engine.scoring.spending import Paid
from lens_engine.search.lens.beam import SearchState
from lens_engine.search.lens.filtering import FilterState
from lens_engine.search.lens.method import Lens, LensState
from lens_engine.search.objective import Score
from lens_engine.testing import TableScorer
from lens_engine.types import Permutation, Phase


@pytest.fixture(scope="module")
def prepared(problem: Any, make_config: Callable[..., Any]) -> PreparedRun:
    return prepare_run(problem, TableScorer(), make_config())


def round_trip(state: RunState) -> RunState:
    checkpoint = state.to_checkpoint("print", "bfloat16", Phase.SEARCH, 4)
    read = Checkpoint.from_bytes(checkpoint.to_bytes())
    assert (read.fingerprint, read.dtype, read.phase, read.step) == ("print", "bfloat16", Phase.SEARCH, 4)
    found = RunState.from_checkpoint(read)
    again = found.to_checkpoint("print", "bfloat16", Phase.SEARCH, 4)
    assert json.dumps(again.values) == json.dumps(checkpoint.values)
    np.testing.assert_equal(again.arrays, checkpoint.arrays)
    return found


def test_fresh_state_survives_a_checkpoint(prepared: PreparedRun) -> None:
    found = round_trip(RunState(Lens(prepared.setup).start()))

    assert found.lens is not None
    assert found.lens.filtering.survivors.tolist() == list(range(60))
    assert round_trip(RunState()) == RunState()


def test_everything_found_survives_a_checkpoint_to_the_last_bit(prepared: PreparedRun) -> None:
    scores: dict[Permutation, Score] = {
        (2, 1): Score(7, 9, 1 / 3),
        (1, 2): Score(8, 9, -1e-17, log_loss=0.1 + 0.2, macro_f1=1 / 7, objective="macro_f1"),
        (0, 2): Score(0, 9, -800.125),
    }
    others = {one: Score(place, 9, place / 3) for place, one in enumerate(scores)}
    filtering = FilterState(2, np.array([1, 4, 7]), np.array([[1 / 3, np.nan], [1e-300, -0.0], [0.2, 0.7]]))
    candidates: list[Candidate] = Classifying(prepared.setup, prepared.meter).bag_of_words()
    state = RunState(
        LensState(filtering, SearchState(3, ((1, 2), (2, 1)), scores, ((2, 0),), others)),
        Judging({0: np.float32([[-0.1, -1e-30]]), 12: np.float32([[-1 / 3, -5]] * 2)}, (0, 12), 2),
        tuple(candidates),
        {12: np.float32([[-0.25, -2.0]])},
        {0: TestedFigures(answers=(0, 1), confidences=(0.1 + 0.2, 1.0), losses=(1e-17, 3.0))},
        done=("bag_of_words", "search"),
        skipped=("search",),
        cut_off=Phase.SEARCH,
        spent=Cost(123, 456),
        seconds=1.1,
        pairs_from_cache=7,
        refused=1,
        paid=Paid(0.1 + 0.2, 3, 4, 1),
    )

    again = round_trip(state)

    assert again.lens is not None
    assert again.judging is not None
    assert again.lens.search == state.lens.search if state.lens else None
    assert list(again.lens.search.scores) == list(scores) if again.lens.search else None
    assert again.lens.filtering.contributions.tobytes() == filtering.contributions.tobytes()
    assert (again.judging.left, again.judging.rungs_done, list(again.judging.cells)) == ((0, 12), 2, [0, 12])
    for name in ("candidates", "tested_classifiers", "done", "skipped", "cut_off", "spent", "seconds", "paid"):
        assert getattr(again, name) == getattr(state, name)
    assert (again.pairs_from_cache, again.refused) == (7, 1)
