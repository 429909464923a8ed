"""`lens up` whose processes are killed, and whose signals are ignored."""

import os
import signal
import subprocess

import httpx
import pytest

from lens_cli.sample import SAMPLE_FOLDER, SAMPLE_SPEC
from lens_cli.service.stack import Stack
from lens_client import LensClient
from tests.dispositions import ignored_signals
from tests.e2e.processes import is_gone
from tests.e2e.test_up_command import check_stop, children_of, data_dir, is_worker_up, said, stack, up, wait_for_address
from tests.e2e.waiting import until


@pytest.mark.parametrize("up", [ignored_signals], indirect=True)
def test_up_started_with_signals_ignored_stops_on_sigterm(up: subprocess.Popen[str]) -> None:
    url = wait_for_address(up)
    children = children_of(up)
    for ignored in (signal.SIGINT, signal.SIGHUP):
        up.send_signal(ignored)
    assert httpx.get(f"{url}/readyz").status_code == 200
    up.terminate()
    check_stop(up, children)


def test_up_that_is_killed_leaves_nothing_running(up: subprocess.Popen[str]) -> None:
    wait_for_address(up)
    children = children_of(up)
    up.kill()
    until(lambda: all(is_gone(child) for child in children), "all children are gone")


def test_job_after_the_death_of_a_worker_succeeds(stack: Stack, said: list[str]) -> None:
    until(lambda: stack.look_after() or is_worker_up(stack.url), "the worker has registered", seconds=90)
    killed = stack.workers[0].pid
    os.kill(killed, signal.SIGKILL)
    until(lambda: stack.look_after() or stack.workers[0].pid != killed, "another worker runs")
    assert said[-1].startswith("The worker was killed by SIGKILL")
    with LensClient(stack.url, trust_env=False) as client:
        job = client.selections.submit(SAMPLE_FOLDER / "train.csv", test=SAMPLE_FOLDER / "test.csv", spec=SAMPLE_SPEC)
        ended = client.selections.wait(job.id, timeout=300, on_change=lambda _: stack.look_after())
    assert ended.status == "succeeded"
