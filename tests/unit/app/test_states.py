"""The state machine of selections."""

import pytest

from app.lifecycle.states import REVIVALS, TERMINAL, TRANSITIONS, Status, can_move


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_terminal_status_has_no_transition(status: Status) -> None:
    assert not any(can_move(status, target) for target in Status)


def test_owner_revives_what_failed_or_was_cancelled_and_nothing_else() -> None:
    assert REVIVALS == {Status.FAILED: Status.QUEUED, Status.CANCELLED: Status.QUEUED}


def test_three_statuses_are_terminal() -> None:
    assert {Status.CANCELLED, Status.SUCCEEDED, Status.FAILED} == TERMINAL


def test_every_status_has_its_transitions() -> None:
    assert set(TRANSITIONS) == set(Status)


def test_every_other_status_reaches_each_terminal_one() -> None:
    for start in set(Status) - TERMINAL:
        reached = {start}
        while new := {target for status in reached for target in TRANSITIONS[status]} - reached:
            reached |= new
        assert reached >= TERMINAL


def test_only_queued_selection_can_start() -> None:
    assert [status for status in Status if can_move(status, Status.RUNNING)] == [Status.QUEUED]


def test_cancelling_selection_is_never_queued_again() -> None:
    assert not can_move(Status.CANCELLING, Status.QUEUED)
