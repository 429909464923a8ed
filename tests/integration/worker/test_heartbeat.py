"""The heartbeat with a real Postgres and during its outages."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from sqlalchemy import text

from app.database import Database
from app.selections import claims
from app.selections.claims import Claim
from app.settings import Settings
from lens_engine.metering.progress import Progress
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.integration.conftest import Selections
from tests.outages import absent, read_only
from worker.heartbeat import Heartbeat, Rhythm
from worker.progress import RunMonitor

QUICK = Rhythm(lease=60, renew=0.05, stall=60, stop_grace=60, look=0.02, longest_pause=0.1)
CHECKPOINT = Checkpoint(fingerprint="run", phase=Phase.SEARCH, step=3, dtype="float32")
PROGRESS = Progress(
    phase=Phase.SEARCH,
    step=3,
    steps=4,
    pairs_done=10,
    pairs_total=20,
    tokens_done=100,
    tokens_total=200,
    tokens_per_second=5.0,
    eta_seconds=20.0,
    best_validation_accuracy=0.5,
)


@contextmanager
def beating(database: Database, claim: Claim) -> Iterator[RunMonitor]:
    monitor = RunMonitor()
    heartbeat = Heartbeat(database, claim, monitor, QUICK)
    heartbeat.start()
    try:
        yield monitor
    finally:
        heartbeat.stop()


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.01)


def read(database: Database, statement: str, claim: Claim) -> Any:
    with database.session_scope() as session:
        return session.execute(text(statement), {"id": claim.selection_id}).scalar()


def checkpoints(database: Database, claim: Claim) -> int:
    count: int = read(database, "SELECT count(*) FROM checkpoints WHERE selection_id = :id", claim)
    return count


def test_progress_and_checkpoint_are_written(selections: Selections, database: Database) -> None:
    claim = selections.running()

    with beating(database, claim) as monitor:
        monitor.on_progress(PROGRESS)
        monitor.on_checkpoint(CHECKPOINT)
        until(lambda: checkpoints(database, claim), "the checkpoint is there")
        until(lambda: not monitor.read_news(), "all news are written")

    progress = selections.client.get(f"/selections/{claim.selection_id}").json()["progress"]
    assert progress["phase"] == "search"
    assert progress["pairs_done"] == 10
    with database.session_scope() as session:
        assert Checkpoint.from_bytes(claims.load_checkpoint(session, claim) or b"") == CHECKPOINT


def test_newest_values_are_written_at_the_stop(selections: Selections, database: Database) -> None:
    claim = selections.running()

    with beating(database, claim) as monitor:
        monitor.on_checkpoint(CHECKPOINT)

    assert checkpoints(database, claim) == 1


def test_lease_is_renewed_without_news(selections: Selections, database: Database) -> None:
    claim = selections.running(lease_seconds=1)

    with beating(database, claim):
        remaining = "SELECT lease_until > now() + interval '30 seconds' FROM selections WHERE id = :id"
        until(lambda: read(database, remaining, claim), "the lease is longer")


def test_cancelled_selection_stops_its_run(selections: Selections, database: Database) -> None:
    claim = selections.running()

    with beating(database, claim) as monitor:
        assert selections.client.post(f"/selections/{claim.selection_id}/cancel").status_code == 202
        until(monitor.stop_requested, "the run is asked to stop")

    assert monitor.stop_requested() is StopReason.CANCELLED
    assert not monitor.is_lost


def test_run_taken_over_stops_and_writes_nothing(selections: Selections, database: Database) -> None:
    stale = selections.running()
    with database.session_scope() as session:
        assert claims.release(session, stale)
    selections.claim(stale.selection_id)

    with beating(database, stale) as monitor:
        monitor.on_progress(PROGRESS)
        monitor.on_checkpoint(CHECKPOINT)
        until(lambda: monitor.is_lost, "the run knows that it is lost")

    assert monitor.stop_requested() is StopReason.CANCELLED
    assert checkpoints(database, stale) == 0
    assert selections.client.get(f"/selections/{stale.selection_id}").json()["progress"] is None


@pytest.mark.parametrize("outage", [absent, read_only])
def test_outage_of_postgres_only_delays_writes(
    selections: Selections,
    database: Database,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    outage: Callable[[Settings], AbstractContextManager[None]],
) -> None:
    claim = selections.running()

    with beating(database, claim) as monitor:
        with outage(settings):
            monitor.on_checkpoint(CHECKPOINT)
            until(lambda: "Postgres does not answer" in caplog.text, "a write has failed")
            assert monitor.stop_requested() is None
        until(lambda: not monitor.read_news(), "the write has been made up for")

    assert checkpoints(database, claim) == 1
