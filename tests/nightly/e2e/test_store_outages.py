"""Postgres goes away while a selection ends."""

import time

from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.outages import absent


def test_a_run_that_ends_in_an_outage_costs_no_attempt(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)

    with absent(lens.settings):
        lens.let_go()
        time.sleep(2.3 * lens.settings.lease_seconds)  # pauses that doubled would be longer than a lease by now
    selection = lens.wait_until_done(selection_id)

    assert worker.exit_status is None
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    assert (selection["attempt"], lens.crashes(selection_id)) == (1, 0)
    lens.check_invariants()
