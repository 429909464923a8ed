"""Stopped by the clock, or by a cancel and resumed."""

from app.store.states import Status
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.e2e.test_stopping import _wait_until_heard
from tests.e2e.waiting import until


def test_a_run_over_its_time_limit_ends_with_its_best(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    selection_id = lens.submit()
    job = f"rq:job:{selection_id}-1"
    until(lambda: lens.redis.exists(job), "the job is in the queue")
    lens.redis.hset(job, "timeout", 8)  # enough to reach the search on a loaded machine

    lens.start_worker()
    selection = lens.wait_until_done(selection_id)

    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 1)
    assert (selection["partial"], selection["stop_reason"]) == (True, "budget")
    lens.check_invariants()


def test_cancelled_selection_resumes_to_the_digest_of_an_undisturbed_run(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    lens.cancel(selection_id)
    _wait_until_heard(lens, selection_id)
    lens.let_go()
    lens.wait_for(selection_id, Status.CANCELLED)

    assert lens.client.post(f"/selections/{selection_id}/resume").status_code == 202
    selection = lens.wait_until_done(selection_id)

    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 2)
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    lens.check_invariants()
