"""When the parent kills its work-horse."""

from collections.abc import Iterator

import pytest

from app.database import Database
from app.lifecycle import endings
from app.settings import Settings
from tests.integration.conftest import Selections, run_sql
from tests.outages import absent
from worker.horse_report import REPORT
from worker.watch import AttemptWatch


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
    REPORT.claim = None
    made = AttemptWatch(settings, clock)
    yield made
    made.close()


def test_work_horse_has_a_lease_to_claim(watch: AttemptWatch, clock: Clock) -> None:
    clock.now = 60.0
    assert watch.find_reason_to_kill() is None
    clock.now = 61.0
    assert watch.find_reason_to_kill() == "it claimed nothing within 60 s"


def test_run_that_lost_its_claim_has_a_grace(
    selections: Selections, database: Database, watch: AttemptWatch, clock: Clock
) -> None:
    REPORT.claim = claim = selections.running()
    assert watch.find_reason_to_kill() is None
    with database.session_scope() as session:
        assert endings.requeue(session, claim)
    assert watch.find_reason_to_kill() is None
    clock.now = 5.0
    assert watch.find_reason_to_kill() == "its selection ended or was taken over, and it did not stop"


def test_run_that_renews_its_lease_after_an_outage_lives_on(
    selections: Selections, database: Database, settings: Settings, watch: AttemptWatch, clock: Clock
) -> None:
    REPORT.claim = selections.running(lease_seconds=-1)
    assert watch.find_reason_to_kill() is None
    clock.now = 60.0
    with absent(settings):
        assert watch.find_reason_to_kill() is None
    assert watch.find_reason_to_kill() is None, "the grace begins when Postgres answers"
    run_sql(database, "UPDATE selections SET lease_until = now() + interval '1 minute'")
    clock.now = 120.0
    assert watch.find_reason_to_kill() is None


def test_run_that_does_not_heed_its_cancel_is_killed(
    selections: Selections, database: Database, watch: AttemptWatch
) -> None:
    REPORT.claim = selections.cancelling()
    assert watch.find_reason_to_kill() is None
    run_sql(database, "UPDATE selections SET cancel_requested_at = now() - interval '6 seconds'")
    assert watch.find_reason_to_kill() == "its owner cancelled it, and it did not stop"
