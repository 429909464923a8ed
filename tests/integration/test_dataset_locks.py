"""A dataset is deleted with its last selection, while another request wants to use it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from app.store.database import Database
from app.store.datasets import delete_unused_datasets, owns_dataset
from app.web.authentication import LOCAL_OWNER
from tests.e2e.waiting import until
from tests.integration.conftest import Selections, run_sql, transact
from tests.integration.samples import make_rows, make_submission

_BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def dataset_id(selections: Selections, database: Database) -> str:
    """A dataset that no selection uses any more."""
    selection_id = selections.cancelled()
    found: str = selections.client.get(f"/selections/{selection_id}").json()["dataset_id"]
    run_sql(database, "DELETE FROM jobs")
    return found


@contextmanager
def deletion(database: Database, dataset_id: str) -> Iterator[list[BaseException]]:
    """A deletion that another request runs during the block. Gives the errors that it met."""
    errors: list[BaseException] = []

    def delete() -> None:
        try:
            transact(database, delete_unused_datasets, LOCAL_OWNER, [dataset_id])
        except BaseException as error:  # noqa: BLE001 - the test asserts that there is none
            errors.append(error)

    thread = threading.Thread(target=delete)
    thread.start()
    yield errors
    thread.join(10)
    assert not thread.is_alive()


def wait_until_blocked(database: Database) -> None:
    until(lambda: run_sql(database, _BLOCKED), "the deletion waits for the dataset")


def test_dataset_that_a_submission_is_about_to_use_is_kept(selections: Selections, dataset_id: str) -> None:
    other = {**make_submission(), "examples": make_rows()[:-1]}
    other_id = selections.client.post("/selections", json=other).json()["id"]
    with selections.database.session_scope() as session:
        assert owns_dataset(session, LOCAL_OWNER, dataset_id)
        with deletion(selections.database, dataset_id) as errors:
            wait_until_blocked(selections.database)
            session.execute(
                text("UPDATE jobs SET dataset_id = :dataset WHERE id = :id"), {"dataset": dataset_id, "id": other_id}
            )
            session.commit()
    assert errors == []
    assert selections.sql(f"SELECT count(*) FROM datasets WHERE id = '{dataset_id}'") == 1


def test_submission_locks_datasets_as_a_deletion(selections: Selections, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise two of them could wait for each other."""
    rows = make_rows()
    ids = [
        selections.client.post("/selections", json={**make_submission(), "examples": part}).json()["dataset_id"]
        for part in (rows[:30], rows[30:])
    ]
    monkeypatch.setattr("app.selections.receiving.SMALL_BYTES", 2**30)  # stored in this process
    locked = list[str]()
    monkeypatch.setattr(
        "app.selections.submission.check_dataset", lambda _session, _owner, id_, _field: locked.append(id_)
    )
    reuse = {"spec": make_submission()["spec"], "dataset_id": max(ids), "test_dataset_id": min(ids)}
    answer = selections.client.post("/selections", json=reuse)
    assert answer.status_code == 202, answer.text
    assert locked[-2:] == sorted(ids)
