"""Processes that hang, freeze or wake late in the middle of a selection, or are killed in one of its choices."""

import signal
from typing import Any

import pytest

from app.store.states import Status
from tests.e2e.processes import is_gone
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.e2e.waiting import until

WORDINGS: dict[str, Any] = {
    "template": ["{text} It was {label}.", "{text} Mood: {label}."],
    "instruction": ["", "Say it."],
}
AFTER_THE_CHOICE = 8
"""A call of the scorer in the filter: the choice among these four wordings has seven."""
PHASES = {"wording": (3, "wording", 1), "forms": (20, "evaluate", 3)}
"""A call of the scorer in each phase of a selection with these wordings, the phase, and its step."""


@pytest.mark.parametrize(("call", "phase", "step"), PHASES.values(), ids=PHASES)
def test_a_worker_killed_in_a_phase_leaves_a_selection_that_ends_with_the_same_digest(
    lens: Stack, call: int, phase: str, step: int
) -> None:
    lens.hold_from(call)
    worker = lens.start_worker()
    selection_id = lens.submit(**WORDINGS)

    def is_there() -> bool:
        progress = lens.get(selection_id)["progress"] or {}
        return (progress.get("phase"), progress.get("step")) == (phase, step)

    until(is_there, f"{phase} is under way")
    worker.kill()
    lens.let_go()
    lens.start_worker()
    selection = lens.wait_until_done(selection_id, seconds=150)

    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 2)
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    result = lens.client.get(f"/selections/{selection_id}/result").json()
    assert len(result["wordings"]) == 4
    assert {one["form"]["kind"] for one in result["forms"]} == {"nearest", "fixed+nearest"}
    lens.check_invariants()


def test_a_selection_killed_after_the_choice_of_its_wording_keeps_the_wording(lens: Stack) -> None:
    lens.hold_from(AFTER_THE_CHOICE)
    worker = lens.start_worker(LENS_LEASE_SECONDS="3600")
    selection_id = lens.submit(**WORDINGS)

    lens.wait_for_checkpoint(selection_id, "wording")
    worker.wait_for_horse().kill()
    lens.let_go()
    selection = lens.wait_until_done(selection_id, seconds=150)

    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 2)
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    result = lens.client.get(f"/selections/{selection_id}/result").json()
    chosen = result["wordings"][0]
    assert (result["task"]["template"], result["task"].get("instruction", "")) == (
        chosen["template"],
        chosen["instruction"],
    )
    lens.check_invariants()


def test_a_run_that_hangs_is_given_up_and_tried_again(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    lens.start_worker(LENS_STALL_SECONDS="4")  # an import takes a second or two, in the middle of a run
    selection_id = lens.submit()

    until(lambda: lens.crashes(selection_id) == 1, "the hanging work-horse is killed")
    lens.let_go()
    selection = lens.wait_until_done(selection_id)

    assert selection["status"] == Status.SUCCEEDED
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    lens.check_invariants()


def test_a_work_horse_that_freezes_before_its_claim_is_replaced(lens: Stack) -> None:
    worker = lens.start_worker()
    until(lambda: lens.redis.smembers("rq:workers"), "the worker has checked its models, in a child process too")
    selection_id = lens.submit()
    horse = worker.wait_for_horse()

    horse.send_signal(signal.SIGSTOP)
    assert lens.attempt(selection_id) == 0
    until(lambda: is_gone(horse), "its worker kills it")
    selection = lens.wait_until_done(selection_id)

    assert worker.exit_status is None
    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 1)
    assert lens.crashes(selection_id) == 0
    lens.check_invariants()


def test_a_worker_that_wakes_after_another_took_over_writes_nothing(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    zombie = lens.workers[0].wait_for_horse()

    lens.workers[0].send(signal.SIGSTOP)  # the parent too, as when a machine is suspended: it would kill the zombie
    zombie.send_signal(signal.SIGSTOP)
    until(lambda: lens.crashes(selection_id) == 1, "the lease of the stopped work-horse runs out")
    lens.start_worker()
    until(lambda: lens.attempt(selection_id) == 2, "another attempt begins")
    zombie.send_signal(signal.SIGCONT)
    lens.let_go()
    selection = lens.wait_until_done(selection_id)
    until(lambda: is_gone(zombie), "the zombie exits")

    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 2)
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    assert lens.get(selection_id) == selection
    assert "writes nothing: the claim is lost" in lens.workers[0].log()
    lens.check_invariants()


def test_a_frozen_work_horse_is_killed_and_its_worker_goes_on(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    horse = worker.wait_for_horse()

    horse.send_signal(signal.SIGSTOP)
    until(lambda: is_gone(horse), "its worker kills it")
    lens.let_go()
    selection = lens.wait_until_done(selection_id)

    assert worker.exit_status is None
    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 2)
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    assert lens.crashes(selection_id) == 1
    lens.check_invariants()
