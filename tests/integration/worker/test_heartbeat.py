"""The heartbeat with a real Postgres and during its outages."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim
from app.settings import Settings
from app.store.database import Database
from lens_engine.run.state import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.e2e.waiting import until
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import PROGRESS
from tests.outages import absent, read_only
from worker import heartbeat
from worker.heartbeat import Heartbeat, Pending, RunMonitor

QUICK = {"lease_seconds": 60, "lease_renew_seconds": 0.02, "stall_seconds": 60}
CHECKPOINT = Checkpoint(fingerprint="run", phase=Phase.SEARCH, step=3, dtype="float32")

LEASE_IS_LONG = "SELECT lease_until > now() + interval '30 seconds' FROM jobs WHERE id = :id"


@contextmanager
def beating(database: Database, claim: Claim, **changes: float) -> Iterator[RunMonitor]:
    monitor = RunMonitor()
    beating = Heartbeat(database, claim, monitor, Settings().model_copy(update=QUICK | changes))
    beating.start()
    try:
        yield monitor
    finally:
        beating.stop()


def checkpoints(database: Database, claim: Claim) -> int:
    count: int = run_sql(database, "SELECT count(*) FROM checkpoints WHERE job_id = :id", id=claim.job_id)
    return count


def test_progress_and_checkpoint_are_written(selections: Selections, database: Database) -> None:
    claim = selections.running()

    with beating(database, claim) as monitor:
        monitor.on_progress(PROGRESS)
        monitor.on_checkpoint(CHECKPOINT)
        until(lambda: checkpoints(database, claim), "the checkpoint is there")
        until(lambda: monitor.read_pending() == Pending(None, None), "all news are written")

    progress = selections.client.get(f"/selections/{claim.job_id}").json()["progress"]
    assert progress["phase"] == "search"
    assert progress["pairs_done"] == PROGRESS.pairs_done
    assert Checkpoint.from_bytes(selections.transact(claims.load_checkpoint, claim) or b"") == CHECKPOINT


def test_lease_is_renewed_without_news(selections: Selections, database: Database) -> None:
    claim = selections.running(lease_seconds=1)

    with beating(database, claim):
        until(lambda: run_sql(database, LEASE_IS_LONG, id=claim.job_id), "the lease is longer")


def test_cancelled_selection_stops_its_run(selections: Selections, database: Database) -> None:
    claim = selections.running()

    with beating(database, claim) as monitor:
        assert selections.client.post(f"/selections/{claim.job_id}/cancel").status_code == 202
        until(monitor.stop_requested, "the run is asked to stop")

    assert monitor.stop_requested() is StopReason.CANCELLED
    assert not monitor.is_lost


def test_run_taken_over_stops_and_writes_nothing(selections: Selections, database: Database) -> None:
    stale = selections.running()
    assert selections.transact(endings.requeue, stale)
    selections.claim(stale.job_id)

    with beating(database, stale) as monitor:
        monitor.on_progress(PROGRESS)
        monitor.on_checkpoint(CHECKPOINT)
        until(lambda: monitor.is_lost, "the run knows that it is lost")

    assert monitor.stop_requested() is StopReason.CANCELLED
    assert checkpoints(database, stale) == 0
    assert selections.client.get(f"/selections/{stale.job_id}").json()["progress"] is None


@pytest.mark.parametrize(("limit", "is_loading"), [("stall_seconds", False), ("load_seconds", True)])
def test_run_without_progress_is_given_up_and_stops(selections: Selections, limit: str, is_loading: bool) -> None:
    claim = selections.running()

    with (
        beating(selections.database, claim, **{limit: 0.2}) as monitor,
        monitor.loading() if is_loading else nullcontext(),
    ):
        until(lambda: monitor.is_lost, "the run is given up")
        assert monitor.stop_requested() is StopReason.CANCELLED

    assert selections.status_of(claim.job_id) == "queued"
    assert len(selections.events_of(claim.job_id, "stalled")) == 1


def test_run_writes_seldom_however_often_it_reports(selections: Selections, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_PROGRESS_SECONDS", "_CHECKPOINT_SECONDS"):
        monkeypatch.setattr(heartbeat, name, 30)
    claim = selections.running()
    versions = "SELECT xmin::text::bigint FROM {} WHERE {} = :id"
    row = versions.format("jobs", "id")

    with beating(selections.database, claim, lease_renew_seconds=30) as monitor:
        before = selections.sql(row, id=claim.job_id)
        monitor.on_checkpoint(CHECKPOINT)
        until(lambda: checkpoints(selections.database, claim), "the first checkpoint is written at once")
        first = selections.sql(versions.format("checkpoints", "job_id"), id=claim.job_id)
        for step in range(20):
            monitor.on_progress(replace(PROGRESS, step=step))
            monitor.on_checkpoint(replace(CHECKPOINT, step=step))
            time.sleep(0.02)
        assert selections.sql(row, id=claim.job_id) == before
        assert selections.sql(versions.format("checkpoints", "job_id"), id=claim.job_id) == first

    assert selections.sql("SELECT step FROM checkpoints WHERE job_id = :id", id=claim.job_id) == 19
    assert selections.sql("SELECT progress->'step' FROM jobs WHERE id = :id", id=claim.job_id) == 19


def test_renewal_with_progress_touches_no_index(selections: Selections, database: Database) -> None:
    claim = selections.running()
    for step in range(5):
        selections.transact(claims.renew_lease, claim, 60, replace(PROGRESS, step=step))

    run_sql(database, "SELECT pg_stat_force_next_flush()")
    heap_only = "SELECT pg_stat_get_tuples_hot_updated('jobs'::regclass)"
    until(lambda: run_sql(database, heap_only, id=claim.job_id) >= 4, "the updates are counted")


@pytest.fixture
def refusing(database: Database) -> Iterator[None]:
    """A Postgres that cuts off every write of a checkpoint, as by a statement timeout."""
    with database.session_scope() as session:
        cut_off = "RAISE EXCEPTION 'too slow' USING ERRCODE = 'query_canceled'"
        body = f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {cut_off}; END $$"
        session.execute(text(body))
        session.execute(
            text("CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON checkpoints FOR EACH ROW EXECUTE FUNCTION refuse()")
        )
    yield
    run_sql(database, "DROP FUNCTION refuse() CASCADE")


@pytest.mark.usefixtures("refusing")
def test_refused_checkpoint_costs_nothing_else(selections: Selections, caplog: pytest.LogCaptureFixture) -> None:
    claim = selections.running(lease_seconds=1)

    with beating(selections.database, claim) as monitor:
        monitor.on_checkpoint(CHECKPOINT)
        until(lambda: caplog.text.count("was not stored") >= 3, "it has tried several times")
        monitor.on_progress(PROGRESS)
        until(lambda: monitor.read_pending().progress is None, "the progress is written")
        assert not monitor.is_lost

    assert run_sql(
        selections.database,
        "SELECT lease_until > now() + interval '30 seconds' FROM jobs WHERE id = :id",
        id=claim.job_id,
    )
    assert "Postgres does not answer" not in caplog.text
    told = selections.events_of(claim.job_id, "checkpoint-unwritten")
    assert told == [{"detail": "a checkpoint was not stored: Postgres refused it (SQLSTATE 57014)"}]


def test_checkpoint_above_the_limit_is_not_stored_and_said(selections: Selections, database: Database) -> None:
    claim = selections.running()
    large = replace(CHECKPOINT, arrays={"noise": np.random.default_rng(0).integers(0, 2**62, 2**18)})

    with beating(database, claim, max_checkpoint_mib=1) as monitor:
        monitor.on_checkpoint(large)
        until(lambda: monitor_told(database, claim), "the owner is told")
        monitor.on_checkpoint(CHECKPOINT)
        until(lambda: checkpoints(database, claim), "a smaller one is stored")

    assert monitor_told(database, claim) == "a checkpoint was not stored: it has 3 MiB, and 1 MiB are allowed"


def monitor_told(database: Database, claim: Claim) -> Any:
    query = "SELECT data->>'detail' FROM events WHERE job_id = :id AND type = 'checkpoint-unwritten'"
    return run_sql(database, query, id=claim.job_id)


@pytest.mark.parametrize("outage", [absent, read_only])
def test_outage_of_postgres_only_delays_writes(
    selections: Selections,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    outage: Callable[[Settings], AbstractContextManager[None]],
) -> None:
    claim = selections.running()

    with beating(selections.database, claim) as monitor:
        with outage(settings):
            monitor.on_checkpoint(CHECKPOINT)
            until(lambda: "Postgres does not answer" in caplog.text, "a write has failed")
            assert monitor.stop_requested() is None
        until(lambda: monitor.read_pending() == Pending(None, None), "the write has been made up for")

    assert checkpoints(selections.database, claim) == 1
