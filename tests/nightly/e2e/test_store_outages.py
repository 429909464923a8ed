"""Postgres hangs, and Redis restarts, while a selection is computed."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest
from redis.exceptions import RedisError

from app.store.states import Status
from lens_cli.service.embedded import EmbeddedServers
from lens_cli.service.embedded.child import Child
from tests.e2e.stack import Stack
from tests.e2e.test_crashes import IN_THE_SEARCH
from tests.e2e.test_postgres_faults import wait_for_sweep
from tests.e2e.waiting import until
from tests.outages import absent


@pytest.fixture(scope="session")
def restart_redis(servers: EmbeddedServers) -> Iterator[Callable[[], None]]:
    """Kills Redis, which then has lost everything, and starts it again at the same place."""
    running = [child for child in servers.children if child.spec.name == "Redis"]

    def restart() -> None:
        killed = running[-1]
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(10)
        running.append(Child(killed.spec))

    yield restart
    running[-1].stop()


@pytest.mark.parametrize("is_hung", [True, False], ids=["hung", "absent"])
def test_an_outage_longer_than_a_lease_costs_no_attempt(lens: Stack, servers: EmbeddedServers, is_hung: bool) -> None:
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker()
    selection_id = lens.submit()
    lens.wait_for_checkpoint(selection_id)
    horse = worker.wait_for_horse()

    with hung(servers.children[0].pid) if is_hung else absent(lens.settings):
        time.sleep(3 * lens.settings.lease_seconds)
        horse.send_signal(signal.SIGSTOP)  # the sweep comes before its next renewal
    wait_for_sweep(lens, selection_id)
    horse.send_signal(signal.SIGCONT)
    is_renewed = "SELECT lease_until > now() FROM jobs WHERE id = :id"
    until(lambda: lens.scalar(is_renewed, id=selection_id), "the run renews its lease")
    lens.let_go()
    selection = lens.wait_until_done(selection_id)

    assert worker.exit_status is None
    assert selection["status"] == Status.SUCCEEDED
    assert selection["digest"] == lens.undisturbed_digest(selection_id)
    assert (selection["attempt"], lens.crashes(selection_id)) == (1, 0)
    lens.check_invariants()


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


def test_a_restart_of_redis_costs_the_run_nothing(lens: Stack, restart_redis: Callable[[], None]) -> None:
    lens.hold_from(IN_THE_SEARCH)
    worker = lens.start_worker()
    running_id, queued_id = lens.submit(), lens.submit()
    lens.wait_for_checkpoint(running_id)

    restart_redis()
    until(lambda: is_answering(lens), "Redis answers again")
    lens.let_go()
    selections = [lens.wait_until_done(id_) for id_ in (running_id, queued_id)]

    assert worker.exit_status is None
    for selection in selections:
        assert selection["status"] == Status.SUCCEEDED
        assert selection["digest"] == lens.undisturbed_digest(selection["id"])
        assert (selection["attempt"], lens.crashes(selection["id"])) == (1, 0)
    lens.check_invariants()


def is_answering(lens: Stack) -> bool:
    with suppress(RedisError):
        return bool(lens.redis.ping())
    return False


@contextmanager
def hung(pid: int) -> Iterator[None]:
    """The process and its children keep their connections and answer nothing."""
    server = psutil.Process(pid)
    with ExitStack() as stack:
        for process in (server, *server.children(recursive=True)):
            process.suspend()
            stack.callback(process.resume)
        yield
