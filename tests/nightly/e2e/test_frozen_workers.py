import signal

from tests.e2e.processes import is_gone
from tests.e2e.stack import Stack
from tests.e2e.waiting import until


def test_a_work_horse_that_freezes_before_its_claim_is_replaced(lens: Stack) -> None:
    worker = lens.start_worker()
    until(lambda: lens.redis.smembers("rq:workers"), "the worker has checked its models, in a child process too")
    selection_id = lens.submit()
    horse = worker.wait_for_horse()

    horse.send_signal(signal.SIGSTOP)
    assert lens.attempt(selection_id) == 0
    until(lambda: is_gone(horse), "its worker kills it")

    lens.check_undisturbed(selection_id, attempt=1, crashes=0)
    assert worker.exit_status is None


def test_a_frozen_work_horse_is_killed_and_its_worker_goes_on(lens: Stack) -> None:
    worker, selection_id = lens.hold_in_the_search()
    horse = worker.wait_for_horse()

    horse.send_signal(signal.SIGSTOP)
    until(lambda: is_gone(horse), "its worker kills it")
    lens.let_go()

    lens.check_undisturbed(selection_id, attempt=2, crashes=1)
    assert worker.exit_status is None
