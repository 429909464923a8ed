"""A run that is cut off within a step resumes from the scores of the step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.metering import chunks, journal
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import Phase

Make = Callable[..., Any]
OPTIONS: dict[str, dict[str, Any]] = {
    "no halving": {},
    "halving": {"search": {"first_permutations": 8, "halvings": 2}},
    "forms": {"search": {"forms": ["fixed", "nearest", "fixed+nearest"]}},
    "budget": {"budget": {"max_pairs": 2_600}},
    "classifier": {"use": "probabilities", "classifier": {"kind": "auto", "fit_rows": 60}},
}


@pytest.fixture(autouse=True)
def saves_after_each_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small chunks, and no wait between two savings."""
    monkeypatch.setattr(journal, "SECONDS", 0.0)
    monkeypatch.setattr(chunks, "CHUNK_TOKENS", {"cpu": 600})


@pytest.fixture
def select(make_planted_problem: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(options: dict[str, Any], scorer: Any, store: Any) -> SelectionResult:
        return select_support_examples(make_planted_problem(), scorer, make_config(**options), checkpoints=store)

    return run


def count_journaled(checkpoint: Checkpoint) -> int:
    """Number of pairs in a checkpoint's journal."""
    shapes = checkpoint.arrays.get("journal_shapes", np.empty((0, 3), dtype=np.intp))
    return int(shapes[:, :2].prod(axis=1).sum())


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_resumed_run_equals_the_whole_one_and_scores_no_pair_again(
    options: dict[str, Any], select: Callable[..., SelectionResult], make_store: Make, make_planted_scorer: Make
) -> None:
    first, store = make_planted_scorer(), make_store()
    whole = select(options, first, store)

    for data in store.of_each_phase():
        checkpoint, scorer = Checkpoint.from_bytes(data), make_planted_scorer()
        resumed = select(options, scorer, make_store(data))
        assert resumed.digest == whole.digest
        assert (resumed.cost.pairs, resumed.cost.tokens) == (whole.cost.pairs, whole.cost.tokens)
        assert resumed.cost.pairs_from_cache == 0
        done = checkpoint.values["spent"][0] + count_journaled(checkpoint)
        assert scorer.num_pairs == first.num_pairs - done


def test_checkpoints_within_steps_come_in_every_phase(
    select: Callable[..., SelectionResult], make_store: Make, make_planted_scorer: Make
) -> None:
    store = make_store()
    select({}, make_planted_scorer(), store)

    found = map(Checkpoint.from_bytes, store.saved)
    assert {one.phase for one in found if count_journaled(one)} == {
        Phase.FILTER,
        Phase.INITIALISE,
        Phase.SEARCH,
        Phase.EVALUATE,
    }


def test_large_journal_keeps_its_first_scores(
    monkeypatch: pytest.MonkeyPatch, select: Callable[..., SelectionResult], make_store: Make, make_planted_scorer: Make
) -> None:
    monkeypatch.setattr(journal, "MOST_BYTES", 1_000)
    whole_store = make_store()
    whole = select({}, make_planted_scorer(), whole_store)

    within = next(data for data in reversed(whole_store.saved) if count_journaled(Checkpoint.from_bytes(data)))

    assert Checkpoint.from_bytes(within).arrays["journal_scores"].nbytes <= 1_000
    assert select({}, make_planted_scorer(), make_store(within)).digest == whole.digest


def test_run_that_dies_twice_in_one_step_loses_nothing(
    select: Callable[..., SelectionResult], make_store: Make, make_planted_scorer: Make
) -> None:
    whole_store = make_store()
    whole = select({}, make_planted_scorer(), whole_store)
    early = next(data for data in whole_store.saved if count_journaled(Checkpoint.from_bytes(data)))
    second = make_store(early)
    select({}, make_planted_scorer(), second)

    late = Checkpoint.from_bytes(second.saved[0])

    assert count_journaled(late) > count_journaled(Checkpoint.from_bytes(early))
    assert select({}, make_planted_scorer(), make_store(second.saved[0])).digest == whole.digest


def test_short_steps_save_no_journal(
    monkeypatch: pytest.MonkeyPatch, select: Callable[..., SelectionResult], make_store: Make, make_planted_scorer: Make
) -> None:
    monkeypatch.setattr(journal, "SECONDS", 30.0)
    store = make_store()
    select({}, make_planted_scorer(), store)

    assert not any(count_journaled(Checkpoint.from_bytes(data)) for data in store.saved)
