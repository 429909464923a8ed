"""A cancel ends a selection within seconds and keeps its best, while its run is in a step that takes long."""

import time

from app.store.tables import Status
from tests.e2e.processes import is_gone
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.e2e.waiting import until

SECONDS = 10.0


def test_in_a_step_that_takes_long(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    horse, asked = worker.wait_for_horse(), time.monotonic()

    lens.cancel(selection_id)
    selection = lens.wait_until_done(selection_id)

    assert time.monotonic() - asked < SECONDS
    until(lambda: is_gone(horse), "the work-horse ends itself", seconds=5)
    assert (selection["status"], selection["partial"]) == (Status.CANCELLED, True)
    assert selection["stop_reason"] == "cancelled"
    result = lens.client.get(f"/selections/{selection_id}/result").json()
    assert len(result["support_examples"][0]["examples"]) == 2
    lens.check_invariants()
    lens.let_go()
    assert lens.wait_until_done(lens.submit())["status"] == Status.SUCCEEDED
    assert worker.exit_status is None
