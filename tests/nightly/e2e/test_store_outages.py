"""Postgres goes away while a selection ends."""

import time

from tests.e2e.stack import Stack
from tests.outages import absent


def test_a_run_that_ends_in_an_outage_costs_no_attempt(lens: Stack) -> None:
    worker, selection_id = lens.hold_in_the_search()

    with absent(lens.settings):
        lens.let_go()
        time.sleep(2.3 * lens.settings.lease_seconds)  # pauses that doubled would be longer than a lease by now

    lens.check_undisturbed(selection_id, attempt=1, crashes=0)
    assert worker.exit_status is None
