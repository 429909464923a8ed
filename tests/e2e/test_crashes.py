"""Processes killed in the middle of a selection: it is finished once, and as if nothing had happened."""

import re

import psutil

from app.store.tables import Status
from tests.e2e.processes import is_gone
from tests.e2e.stack import Stack
from tests.e2e.waiting import until

IN_THE_FILTER = 2
"""A call of the scorer in the second round of filtering: one checkpoint exists before it."""

IN_THE_SEARCH = 6
"""A call of the scorer in the second iteration of the search: the checkpoint of the first exists before it."""

_RESUMED = re.compile(r"resumes after step \d of search")


def test_a_killed_worker_s_selection_is_finished_by_the_next(lens: Stack) -> None:
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    horse = worker.wait_for_horse()

    worker.kill()
    until(lambda: is_gone(horse), "the work-horse dies with its parent", seconds=5)
    lens.let_go()
    lens.start_worker()
    selection = lens.wait_until_done(selection_id)

    assert selection["status"] == Status.SUCCEEDED
    assert selection["attempt"] == 2
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    assert _RESUMED.search(lens.workers[1].log())
    lens.check_invariants()


def test_killed_work_horses_are_replaced_at_once(lens: Stack) -> None:
    lens.hold_from(IN_THE_FILTER)
    worker = lens.start_worker(LENS_LEASE_SECONDS="3600")  # so that nobody waits for its end
    selection_id = lens.submit()

    lens.wait_for_checkpoint(selection_id, "filter")
    maps = {mapping.path for mapping in psutil.Process(worker.pid).memory_maps(grouped=True)}
    assert not [path for path in maps if "libtorch" in path], "the parent of the work-horse needs no torch"
    worker.wait_for_horse().kill()
    lens.hold_from(IN_THE_SEARCH)
    lens.wait_for_checkpoint(selection_id, "search")
    worker.wait_for_horse().kill()
    lens.let_go()
    selection = lens.wait_until_done(selection_id)

    assert worker.exit_status is None
    assert (selection["status"], selection["attempt"]) == (Status.SUCCEEDED, 3)
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    assert lens.crashes(selection_id) == 2
    lens.check_invariants()
