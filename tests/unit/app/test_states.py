"""The state machine: every status can be reached and left, and the end is the end."""

import pytest

from app.selections.states import LEASED, TERMINAL, TRANSITIONS, Status, can_move


@pytest.mark.parametrize("status", TERMINAL)
def test_terminal_status_has_no_way_out(status: Status) -> None:
    assert not any(can_move(status, target) for target in Status)


def test_three_statuses_are_terminal() -> None:
    assert {Status.CANCELLED, Status.SUCCEEDED, Status.FAILED} == TERMINAL


def test_every_status_has_its_transitions() -> None:
    assert set(TRANSITIONS) == set(Status)


def test_every_other_status_leads_to_each_end() -> None:
    for start in set(Status) - TERMINAL:
        reached = {start}
        while new := {target for status in reached for target in TRANSITIONS[status]} - reached:
            reached |= new
        assert reached >= TERMINAL


def test_only_a_queued_selection_starts_to_run() -> None:
    assert [status for status in Status if can_move(status, Status.RUNNING)] == [Status.QUEUED]


def test_a_cancelled_run_never_goes_back_to_the_queue() -> None:
    assert not can_move(Status.CANCELLING, Status.QUEUED)


def test_leases_are_held_while_a_worker_works() -> None:
    assert {Status.RUNNING, Status.CANCELLING} == LEASED
