"""Processes killed in the middle of a selection: it is finished once, and as if nothing had happened."""

import re

import psutil

from tests.e2e.processes import is_gone
from tests.e2e.stack import IN_THE_FILTER, IN_THE_SEARCH, Stack
from tests.e2e.waiting import until

_RESUMED = re.compile(r"resumes after step \d of search")


def test_a_killed_worker_s_selection_is_finished_by_the_next(lens: Stack) -> None:
    worker, selection_id = lens.hold_in_the_search()
    horse = worker.wait_for_horse()

    worker.kill()
    until(lambda: is_gone(horse), "the work-horse dies with its parent", seconds=5)
    lens.let_go()
    lens.start_worker()

    lens.check_undisturbed(selection_id, attempt=2, crashes=1)
    assert _RESUMED.search(lens.workers[1].log())


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

    lens.check_undisturbed(selection_id, attempt=3, crashes=2)
    assert worker.exit_status is None
