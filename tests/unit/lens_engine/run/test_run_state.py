import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.classifier.candidates import Candidate
from lens_engine.classifier.quality import Quality
from lens_engine.errors import CheckpointDamaged, CheckpointForeign
from lens_engine.metering.prices import Cost
from lens_engine.method.beam import SearchState
from lens_engine.method.filtering import FilterState
from lens_engine.method.lens import Lens, LensState
from lens_engine.method.objective import Score
from lens_engine.model.spending import Paid
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.classifying import Classifying
from lens_engine.run.judge import Judging
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.preparation import PreparedRun, prepare_run
from lens_engine.run.state import Checkpoint, FileCheckpointStore, MemoryCheckpointStore, RunState, TestedFigures
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
        (2, 1): Score(7 / 9, 1 / 3),
        (1, 2): Score(0.1 + 0.2, -1e-17),
        (0, 2): Score(0.0, -800.125),
    }
    by_use = {one: (Score(place / 9, place / 3), Score(0.1, 0.2)) for place, one in enumerate(scores)}
    filtering = FilterState(2, np.array([1, 4, 7]), np.array([[1 / 3, np.nan], [1e-300, -0.0], [0.2, 0.7]]))
    candidates: list[Candidate] = Classifying(prepared.setup, prepared.meter).bag_of_words()
    state = RunState(
        LensState(filtering, SearchState(3, ((1, 2), (2, 1)), scores, ((2, 0),), by_use)),
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


def make_checkpoint(step: int = 3) -> Checkpoint:
    arrays = {"survivors": np.arange(5), "contributions": np.linspace(0, 1, 10).reshape(5, 2)}
    return Checkpoint("print", Phase.SEARCH, step, "float32", {"spent": [1, 2, 0.5]}, arrays)


DATA = make_checkpoint().to_bytes()


@settings(deadline=None)
@given(place=st.integers(0, len(DATA) - 1), flip=st.integers(1, 255))
def test_any_changed_byte_is_noticed(place: int, flip: int) -> None:
    damaged = bytearray(DATA)
    damaged[place] ^= flip
    with pytest.raises(CheckpointDamaged, match="start the run afresh"):
        Checkpoint.from_bytes(bytes(damaged))


@pytest.mark.parametrize(
    "change",
    [{"phase": "unheard of"}, {"dtype": None}, {"device": None}],
    ids=["unknown phase", "no dtype", "no device"],
)
def test_intact_bytes_of_an_unknown_form_are_foreign(change: dict[str, object]) -> None:
    header = {"fingerprint": "print", "phase": "search", "step": 1, "dtype": "float32", "device": "cpu", "values": {}}
    kept = {name: value for name, value in (header | change).items() if value is not None}
    with pytest.raises(CheckpointForeign, match="a form that Lens cannot read"):
        Checkpoint.from_bytes(sealed(kept))


def sealed(header: object) -> bytes:
    """An intact archive with this header, of a form that may be unknown."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    return hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue()


@pytest.mark.parametrize("is_file", [False, True])
def test_newest_is_kept_and_nothing_else(tmp_path: Path, is_file: bool) -> None:
    store = FileCheckpointStore(tmp_path / "run.ckpt") if is_file else MemoryCheckpointStore()
    assert store.load() is None
    for step in (1, 2):
        store.save(make_checkpoint(step))
    found = (FileCheckpointStore(tmp_path / "run.ckpt") if is_file else store).load()
    assert found is not None
    assert found.step == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"] * is_file


def test_torn_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    FileCheckpointStore(path).save(make_checkpoint(1))
    unwritable = Checkpoint("f", Phase.SEARCH, 2, "float32", {"odd": object()})
    with pytest.raises(TypeError):
        FileCheckpointStore(path).save(unwritable)
    found = FileCheckpointStore(path).load()
    assert found is not None
    assert found.step == 1


Make = Callable[..., Any]


@pytest.fixture(scope="module")
def result(make_planted_problem: Make, make_planted_scorer: Make, make_config: Make) -> SelectionResult:
    problem, test = make_planted_problem(), make_planted_problem(60, seed=1).examples
    config = make_config(classifier={"kind": "bag_of_words"})
    return select_support_examples(Problem(problem.task, problem.examples, test), make_planted_scorer(), config)


def test_effects_by_label_have_the_info_score_as_their_mean(result: SelectionResult) -> None:
    shown = [example for answer in result.support_examples for example in answer.examples]
    known = [one for one in shown if one.info_score is not None]
    assert known
    for one in known:
        assert one.effects is not None
        rows = [effect.rows for effect in one.effects]
        assert sum(rows) in (15, 16)  # of the score set without the example itself
        assert np.average([effect.effect for effect in one.effects], weights=rows) == pytest.approx(one.info_score)
    assert all(one.effects is None for one in shown if one.info_score is None)


def check(quality: Quality | None, gold: Any, answers: Any, probabilities: Any) -> None:
    assert quality is not None
    hits, shares = np.equal(gold, answers), np.array(probabilities)
    assert hits.mean() == quality.accuracy
    bins = np.minimum((shares * 10).astype(int), 9)
    gaps = [abs((shares[own] - hits[own]).sum()) for own in (bins == place for place in range(10))]
    assert sum(gaps) / len(hits) == pytest.approx(quality.ece, abs=1e-3)


def test_probabilities_of_the_answers_give_the_calibration_error(result: SelectionResult) -> None:
    told = result.answers
    assert told.is_test
    for answer, answers, shares in zip(
        result.support_examples, told.support_examples, told.support_examples_probabilities, strict=True
    ):
        check(answer.test, told.gold, answers, shares)
    assert result.classifier is not None
    check(result.classifier.quality, told.gold, told.classifier, told.classifier_probabilities)
