import threading
from dataclasses import replace

import pytest

from lens_engine.metering.progress import Progress
from lens_engine.run.state import Checkpoint
from lens_engine.types import Phase
from tests.integration.samples import PROGRESS
from worker.heartbeat import RunMonitor


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def progress(pairs: int, step: int = 1) -> Progress:
    return replace(PROGRESS, pairs_done=pairs, step=step)


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(fingerprint="run", phase=Phase.FILTER, step=step, dtype="float32")


def test_only_the_newest_report_is_kept() -> None:
    monitor = RunMonitor()
    for step in (1, 2):
        monitor.on_progress(progress(step))
        monitor.on_checkpoint(checkpoint(step))

    news = monitor.read_pending()

    assert news.progress == progress(2)
    assert news.checkpoint == checkpoint(2)


def test_news_during_a_write_are_kept() -> None:
    monitor = RunMonitor()
    monitor.on_progress(progress(1))
    written = monitor.read_pending()
    monitor.on_progress(progress(2))
    monitor.on_checkpoint(checkpoint(1))

    monitor.forget_progress(written.progress)

    assert monitor.read_pending().progress == progress(2)
    assert monitor.read_pending().checkpoint == checkpoint(1)


@pytest.mark.parametrize(
    ("second", "idle_seconds"),
    [
        pytest.param(progress(1), 7.0, id="same-place"),
        pytest.param(progress(2), 0.0, id="more-pairs"),
        pytest.param(progress(1, step=2), 0.0, id="next-step"),
    ],
)
def test_only_progress_resets_idle_time(second: Progress, idle_seconds: float) -> None:
    clock = Clock()
    monitor = RunMonitor(clock)
    monitor.on_progress(progress(1))
    clock.seconds = 7.0

    monitor.on_progress(second)

    assert monitor.idle_seconds == idle_seconds


def test_run_that_asks_whether_to_stop_moves() -> None:
    clock = Clock()
    monitor = RunMonitor(clock)
    clock.seconds = 7.0

    monitor.stop_requested()

    assert monitor.idle_seconds == 0.0


def test_time_of_loading_does_not_count_as_idle_afterwards() -> None:
    clock = Clock()
    monitor = RunMonitor(clock)

    with monitor.loading():
        assert monitor.is_loading
        clock.seconds = 700.0

    assert not monitor.is_loading
    assert monitor.idle_seconds == 0.0


def test_checkpoint_wakes_the_heartbeat() -> None:
    monitor = RunMonitor()
    woken = threading.Event()

    def wait() -> None:
        monitor.wait(60.0)
        woken.set()

    thread = threading.Thread(target=wait)
    thread.start()
    monitor.on_checkpoint(checkpoint(1))
    thread.join(10.0)

    assert woken.is_set()
