"""A cancel while the worker comes to harm, or while its model loads."""

import signal
from collections.abc import Callable

import pytest

from app.store.states import Status
from tests.e2e.processes import Worker, is_gone
from tests.e2e.stack import Stack
from tests.e2e.test_cancelling import DRAIN_SECONDS, assert_best_is_kept, cancelling, searching
from tests.e2e.waiting import until


def freeze(worker: Worker) -> None:
    worker.wait_for_horse().send_signal(signal.SIGSTOP)


def deploy(worker: Worker) -> None:
    assert worker.terminate(DRAIN_SECONDS) == 0


@pytest.mark.parametrize("harm", [freeze, deploy, Worker.kill])
def test_of_a_worker_that_comes_to_harm(
    lens: Stack, searching: tuple[Worker, str], harm: Callable[[Worker], None]
) -> None:
    worker, selection_id = searching
    horse = worker.wait_for_horse()

    with cancelling(lens, selection_id):
        harm(worker)

    until(lambda: is_gone(horse), "no work-horse is left")
    assert_best_is_kept(lens, selection_id)
    assert (worker.exit_status is None) == (harm is freeze)


def test_while_the_model_loads(lens: Stack) -> None:
    lens.hold_from(0)
    worker = lens.start_worker()
    selection_id = lens.submit(model="loading")
    lens.wait_for(selection_id, Status.RUNNING)
    horse = worker.wait_for_horse()

    with cancelling(lens, selection_id):
        pass

    until(lambda: is_gone(horse), "the work-horse ends itself", seconds=5)
    selection = lens.get(selection_id)
    assert (selection["status"], selection["partial"]) == (Status.CANCELLED, None)
    assert worker.exit_status is None
    lens.check_invariants()
