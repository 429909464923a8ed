"""LENS_KEEP_DAYS and LENS_RESUME_DAYS: the sweep deletes what is too old."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from app.ids import first_id
from app.settings import Settings
from app.store.database import Database
from tests.integration.conftest import Selections, Sweep
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


def ids_in(selections: Selections, table: str, column: str = "id") -> set[str]:
    return set(selections.sql(f"SELECT array_agg({column}) FROM {table}") or ())


@pytest.fixture
def keeping(settings: Settings) -> Settings:
    return settings.model_copy(update={"keep_days": 30.0})


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_selection_that_ended_long_ago_is_deleted_with_its_dataset(
    selections: Selections, sweep: Sweep, keeping: Settings, status: str
) -> None:
    make_old(selections.database, selections.in_state(status), created=40, ended=31)
    sweep(settings=keeping)
    assert ids_in(selections, "jobs") == ids_in(selections, "datasets") == set()


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
    selections: Selections, sweep: Sweep, settings: Settings, status: str, ended: int, keep_days: float | None
) -> None:
    kept = make_old(selections.database, selections.in_state(status), created=4000, ended=ended)
    sweep(settings=settings.model_copy(update={"keep_days": keep_days}))
    assert ids_in(selections, "jobs") == {kept}


def test_each_sweep_deletes_a_page(
    selections: Selections, sweep: Sweep, keeping: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.lifecycle.sweep._MOST_A_SWEEP", 2)
    for days in range(3):
        make_old(selections.database, selections.failed(), created=40 + days, ended=31)
    for left in (1, 0):
        sweep(settings=keeping)
        assert selections.count("jobs") == left


@pytest.mark.parametrize(("days", "is_kept"), [(6, True), (8, False)])
def test_checkpoint_for_a_resume_stays_a_week(
    selections: Selections, sweep: Sweep, days: int, *, is_kept: bool
) -> None:
    selection_id = selections.cancelled()
    put_checkpoint(selections.database, selection_id)
    selections.sql(f"UPDATE jobs SET cancelled_at = now() - interval '{days} days'")
    sweep()
    assert ids_in(selections, "checkpoints", "job_id") == ({selection_id} if is_kept else set())
    assert ids_in(selections, "jobs") == {selection_id}
