"""The same with a real language model: torch in the work-horse, real checkpoints, real numbers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from app.store.tables import Status
from lens_engine import load_scorer
from tests.e2e.processes import is_gone
from tests.e2e.stack import OPTIONS, Stack
from tests.e2e.waiting import until

LONG_SEARCH: dict[str, Any] = {
    **OPTIONS,
    "num_demonstrations": 4,
    "filtering": {**OPTIONS["filtering"], "keep": 12},
    "search": {**OPTIONS["search"], "iterations": 60},
}
"""Long enough to be killed in the middle: an iteration takes a few hundredths of a second, and 12 examples have more
permutations of four than 60 iterations try."""


@pytest.fixture
def tiny_model(lens: Stack) -> str:
    assert lens.model_dir.is_dir()
    return "tiny"


@contextmanager
def one_thread() -> Iterator[None]:
    """As the workers of these tests compute: the number of threads may change the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def test_a_killed_worker_s_selection_ends_like_an_undisturbed_one(lens: Stack, tiny_model: str) -> None:
    first_worker = lens.start_worker()
    selection_id = lens.submit(model=tiny_model, options=LONG_SEARCH)
    lens.wait_for_checkpoint(selection_id)
    horse = first_worker.wait_for_horse()

    first_worker.kill()
    until(lambda: is_gone(horse), "the work-horse dies with its parent", seconds=5)
    second_worker = lens.start_worker()
    selection = lens.wait_until_done(selection_id)

    with one_thread():
        scorer = load_scorer(str(lens.model_dir), device="cpu", dtype="float32", name=tiny_model)
        undisturbed = lens.undisturbed_digest(selection_id, scorer)
    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 2)
    assert selection["digest"] == undisturbed
    assert re.search(r"resumes after step \d+ of search", second_worker.log())
    lens.check_invariants()
