"""A machine that stops: Postgres and Redis are gone before the workers are told."""

import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from sqlalchemy.exc import OperationalError

from lens_cli.service.embedded import EmbeddedServers, embedded_servers
from lens_cli.service.embedded.child import Child
from tests.e2e.processes import is_gone
from tests.e2e.service import running_service
from tests.e2e.stack import Stack
from tests.e2e.waiting import until

LEAVE_SECONDS = 20
"""Less than the 30 seconds that Docker leaves a container."""


@pytest.fixture
def own_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServers]:
    with embedded_servers(tmp_path_factory.mktemp("own"), durable=False) as running:
        yield running


@pytest.fixture
def machine(own_servers: EmbeddedServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("machine")
    with running_service(own_servers, folder, lease_seconds=10) as stack:  # a busy machine renews late
        yield stack
        for worker in stack.workers:
            worker.stop()


def is_answering(machine: Stack) -> bool:
    with suppress(OperationalError):
        return bool(machine.scalar("SELECT true"))
    return False


def test_a_reboot_costs_one_attempt(machine: Stack, own_servers: EmbeddedServers) -> None:
    worker, selection_id = machine.hold_in_the_search()
    horse = worker.wait_for_horse()

    machine.stop_api()
    specs = [child.spec for child in own_servers.children]
    for child in own_servers.children:
        child._process.send_signal(signal.SIGKILL)
        child.wait(10)
    began = time.monotonic()
    assert worker.terminate(LEAVE_SECONDS) == 0
    seconds = time.monotonic() - began
    assert is_gone(horse)
    assert "not released: the lease will run out" in worker.log()

    again = [Child(spec) for spec in specs]
    try:
        machine.database.dispose()
        until(lambda: is_answering(machine), "Postgres answers", 30)
        machine.let_go()
        second = machine.start_worker()
        machine.start_api()
        machine.check_undisturbed(selection_id, attempt=2, crashes=1)
        assert second.terminate(10) == 0
    finally:
        machine.stop_api()
        for child in again:
            child.stop()
    assert seconds < LEAVE_SECONDS
