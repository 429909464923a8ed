"""`lens up` that is interrupted or killed, and whose signals are ignored; and the demonstration."""

import signal
import subprocess
from collections.abc import Iterator
from io import StringIO

import httpx
import pytest
from rich.console import Console

from lens_cli.demo import tell_story
from lens_cli.sample import NEW_INPUTS
from lens_cli.service.stack import Stack, StackSpec, running_stack
from tests.dispositions import ignored_signals
from tests.e2e.processes import is_gone
from tests.e2e.stack import environment_of
from tests.e2e.test_up_command import check_stop, children_of, data_dir, up, wait_for_address  # noqa: F401
from tests.e2e.waiting import until
from tests.ports import reserve_port
from tests.unit.lens_cli.results import printed_on

WITHOUT_MODEL = {
    "allow_testing_models": True,
    "allowed_models": {"table": "testing:lens_engine.testing:TableScorer"},
    "default_model": "table",
    "retry_after_seconds": 1,
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The service as the demonstration runs it, with a scorer that needs no language model."""
    folder = tmp_path_factory.mktemp("stack")
    environment = environment_of(WITHOUT_MODEL)
    spec = StackSpec(folder, "127.0.0.1", reserve_port(), durable=False, environment=environment)
    with running_stack(spec, print) as running:
        yield running


def test_up_serves_until_it_is_told_to_stop(up: subprocess.Popen[str]) -> None:
    url = wait_for_address(up)
    assert httpx.get(f"{url}/readyz").status_code == 200
    children = children_of(up)
    up.send_signal(signal.SIGINT)
    check_stop(up, children)


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


def test_demonstration_fits_a_screen(stack: Stack) -> None:
    console = Console(file=StringIO(), width=80)
    page = tell_story(stack, console)
    printed = printed_on(console)
    assert len(printed.splitlines()) <= 25
    for part in (page, "counting words", "prompt, no examples", *NEW_INPUTS):
        assert part in printed
