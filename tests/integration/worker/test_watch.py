"""When the parent kills its work-horse."""

import time
from collections.abc import Iterator

import pytest
from sqlalchemy.exc import OperationalError

from app.lifecycle import endings
from app.settings import Settings
from tests.e2e.waiting import until
from tests.integration.conftest import Selections
from tests.outages import absent, read_only
from worker.parent import REPORT, AttemptWatch


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(settings: Settings, clock: Clock) -> Iterator[AttemptWatch]:
    REPORT.clear()
    made = AttemptWatch(settings, lambda: None, clock)
    yield made
    made.close()


def test_work_horse_has_a_lease_to_claim(watch: AttemptWatch, clock: Clock) -> None:
    clock.now = 60.0
    assert watch.find_reason_to_kill() is None
    clock.now = 61.0
    assert watch.find_reason_to_kill() == "it claimed nothing within 60 s"


def test_run_that_lost_its_claim_has_a_grace(selections: Selections, watch: AttemptWatch, clock: Clock) -> None:
    REPORT.claim = claim = selections.running()
    assert watch.find_reason_to_kill() is None
    assert selections.transact(endings.requeue, claim)
    assert watch.find_reason_to_kill() is None
    clock.now = 5.0
    assert watch.find_reason_to_kill() == f"{claim.job_id} ended or was taken over, and its run did not stop"


def test_run_that_cannot_renew_its_lease_lives_on(
    selections: Selections, settings: Settings, watch: AttemptWatch, clock: Clock
) -> None:
    REPORT.claim = selections.running(lease_seconds=-1)
    with read_only(settings):
        assert watch.find_reason_to_kill() is None
        clock.now = 600.0
        assert watch.find_reason_to_kill() is None


def test_work_horse_is_not_killed_while_postgres_is_away(settings: Settings, watch: AttemptWatch, clock: Clock) -> None:
    clock.now = 61.0
    with absent(settings), pytest.raises(OperationalError):
        watch.find_reason_to_kill()


def test_run_that_does_not_heed_its_cancel_is_killed(selections: Selections, watch: AttemptWatch, clock: Clock) -> None:
    REPORT.claim = claim = selections.cancelling()
    clock.now = 5.0
    assert watch.find_reason_to_kill() is None
    selections.sql("UPDATE jobs SET cancel_requested_at = now() - interval '6 seconds'")
    assert watch.find_reason_to_kill() == f"{claim.job_id} was cancelled, and its run did not stop"


def test_watch_kills_once_its_thread_sees_a_reason_until_its_end(selections: Selections, settings: Settings) -> None:
    REPORT.claim = claim = selections.running()
    killed = list[float]()
    quick = settings.model_copy(update={"stop_grace_seconds": 0.2})
    watch = AttemptWatch(quick, lambda: killed.append(time.monotonic()))
    watch.start()
    with absent(settings):
        time.sleep(0.5)
    assert killed == []
    assert selections.transact(endings.requeue, claim)
    until(lambda: killed, "the work-horse is killed")
    watch.close()
    number = len(killed)
    time.sleep(0.3)
    assert len(killed) == number
