"""A cancel ends a selection within seconds and keeps its best, in whatever phase it is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.store.tables import Status
from tests.e2e.processes import Worker, is_gone
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.e2e.waiting import until

SECONDS = 10.0
DRAIN_SECONDS = 10


@contextmanager
def cancelling(lens: Stack, selection_id: str) -> Iterator[None]:
    """Cancel; then the block may do harm; then the selection must have ended in time."""
    asked = time.monotonic()
    lens.cancel(selection_id)
    yield
    lens.wait_until_done(selection_id)
    assert time.monotonic() - asked < SECONDS


def assert_best_is_kept(lens: Stack, selection_id: str) -> None:
    selection = lens.get(selection_id)
    assert selection["status"] == Status.CANCELLED
    assert (selection["partial"], selection["stop_reason"]) == (True, "cancelled")
    result: dict[str, Any] = lens.client.get(f"/selections/{selection_id}/result").json()
    assert len(result["support_examples"][0]["examples"]) == 2
    lens.check_invariants()


@pytest.fixture
def searching(lens: Stack) -> tuple[Worker, str]:
    """A run that is held up in the search, and heeds nothing."""
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    return worker, selection_id


def test_in_a_step_that_takes_long(lens: Stack, searching: tuple[Worker, str]) -> None:
    worker, selection_id = searching
    horse = worker.wait_for_horse()

    with cancelling(lens, selection_id):
        pass

    until(lambda: is_gone(horse), "the work-horse ends itself", seconds=5)
    assert_best_is_kept(lens, selection_id)
    lens.let_go()
    assert lens.wait_until_done(lens.submit())["status"] == Status.SUCCEEDED
    assert worker.exit_status is None
