"""LENS_KEEP_DAYS and LENS_RESUME_DAYS: the sweep deletes what is too old."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from app.ids import first_id
from app.lifecycle.sweep import Settling, sweep
from app.settings import Settings
from app.store.database import Database
from app.store.queue import JobQueue
from tests.integration.conftest import Selections, run_sql
from tests.integration.test_resume import put_checkpoint


def make_old(database: Database, job_id: str, created: int, ended: int) -> str:
    """Move a job into the past (days), with an id of that time. Returns the id."""
    prefix = job_id.partition("_")[0]
    old_id = first_id(prefix, datetime.now(UTC) - timedelta(days=created))[:-4] + job_id[-4:]
    past = f"now() - interval '{ended} days'"
    changes = ", ".join(f"{name} = CASE WHEN {name} IS NOT NULL THEN {past} END" for name in _ENDS)
    with database.session_scope() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))  # no trigger checks a foreign key
        for table in ("reports", "classifiers", "events"):
            session.execute(text(f"UPDATE {table} SET job_id = :new WHERE job_id = :old"), _ids(job_id, old_id))
        session.execute(text(f"UPDATE jobs SET id = :new, {changes} WHERE id = :old"), _ids(job_id, old_id))
    return old_id


_ENDS = ("succeeded_at", "failed_at", "cancelled_at")


def _ids(old: str, new: str) -> dict[str, str]:
    return {"old": old, "new": new}


def ids_in(database: Database, table: str, column: str = "id") -> set[str]:
    with database.session_scope() as session:
        return set(session.execute(text(f"SELECT {column} FROM {table}")).scalars())


@pytest.fixture
def keeping(settings: Settings) -> Settings:
    return settings.model_copy(update={"keep_days": 30.0})


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_selection_that_ended_long_ago_is_deleted_with_its_dataset(
    selections: Selections, database: Database, queue: JobQueue, keeping: Settings, status: str
) -> None:
    make_old(database, selections.in_state(status), created=40, ended=31)
    sweep(database, queue, keeping, Settling(0))
    assert ids_in(database, "jobs") == ids_in(database, "datasets") == set()


@pytest.mark.parametrize(
    ("status", "ended", "keep_days"),
    [
        ("failed", 29, 30.0),
        ("queued", 40, 30.0),
        ("running", 40, 30.0),
        ("cancelling", 40, 30.0),
        ("failed", 4000, Settings(_env_file=None).keep_days),
    ],
)
def test_other_selection_is_kept(
    selections: Selections,
    database: Database,
    queue: JobQueue,
    settings: Settings,
    status: str,
    ended: int,
    keep_days: float | None,
) -> None:
    kept = make_old(database, selections.in_state(status), created=4000, ended=ended)
    sweep(database, queue, settings.model_copy(update={"keep_days": keep_days}), Settling(0))
    assert ids_in(database, "jobs") == {kept}


def test_each_sweep_deletes_a_page(
    selections: Selections, database: Database, queue: JobQueue, keeping: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.lifecycle.sweep._MOST_A_SWEEP", 2)
    for days in range(3):
        make_old(database, selections.failed(), created=40 + days, ended=31)
    for left in (1, 0):
        sweep(database, queue, keeping, Settling(0))
        assert len(ids_in(database, "jobs")) == left


@pytest.mark.parametrize(("days", "is_kept"), [(6, True), (8, False)])
def test_checkpoint_of_a_cancelled_selection_is_kept_for_a_week(
    selections: Selections, database: Database, queue: JobQueue, settings: Settings, days: int, *, is_kept: bool
) -> None:
    selection_id = selections.cancelled()
    put_checkpoint(database, selection_id)
    run_sql(database, f"UPDATE jobs SET cancelled_at = now() - interval '{days} days'")
    sweep(database, queue, settings, Settling(0))
    assert ids_in(database, "checkpoints", "job_id") == ({selection_id} if is_kept else set())
    assert ids_in(database, "jobs") == {selection_id}
