import signal

from app.store.tables import Status
from tests.e2e.processes import is_gone
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.e2e.waiting import until


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
