"""What the poll of a queued selection tells: its place in the queue, the owners who wait, and the number of workers."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.selections import queue_place
from app.selections.queue_place import find_place
from app.selections.repository import find_state
from app.settings import Settings
from app.store.database import Database
from app.web.authentication import LOCAL_OWNER
from tests.integration.conftest import Selections, run_sql
from worker.process import create_worker

_ROWS_READ = text("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'jobs'")
"""By the transaction."""


@pytest.fixture
def worker_is_registered(settings: Settings) -> Iterator[None]:
    worker = create_worker(settings)
    worker.register_birth()
    yield
    worker.connection.close()


def place_of(client: TestClient, selection_id: str) -> object:
    return client.get(f"/selections/{selection_id}").json()["queue"]


def test_places_are_in_the_order_of_waiting(client: TestClient, selections: Selections, database: Database) -> None:
    first, second, third = (selections.queued() for _ in range(3))
    assert [place_of(client, id_)["position"] for id_ in (first, second, third)] == [1, 2, 3]  # type: ignore[index]

    run_sql(database, "UPDATE jobs SET queued_at = now() WHERE id = :id", id=first)
    assert [place_of(client, id_)["position"] for id_ in (first, second, third)] == [3, 1, 2]  # type: ignore[index]


def test_selection_that_may_not_start_has_no_place_and_takes_none(
    client: TestClient, selections: Selections, database: Database
) -> None:
    first, second = (selections.queued() for _ in range(2))
    run_sql(database, "UPDATE jobs SET not_before = now() + interval '1h' WHERE id = :id", id=first)

    assert [place_of(client, id_)["position"] for id_ in (first, second)] == [None, 1]  # type: ignore[index]


@pytest.mark.parametrize("status", ["running", "cancelling", "cancelled", "succeeded", "failed"])
def test_only_a_queued_selection_has_a_place(client: TestClient, selections: Selections, status: str) -> None:
    assert place_of(client, selections.in_state(status)) is None


def test_count_is_bounded(client: TestClient, selections: Selections, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [selections.queued() for _ in range(4)]
    monkeypatch.setattr(queue_place, "MOST_COUNTED", 2)
    assert [place_of(client, id_)["position"] for id_ in ids] == [1, 2, 3, 3]  # type: ignore[index]


def test_jobs_of_other_owners_are_not_read(selections: Selections, database: Database) -> None:
    _, second = (selections.queued() for _ in range(2))
    copy_for_owners(database, second, "generate_series(1, 500) AS number", "'busy'")
    copy_for_owners(database, second, "generate_series(501, 510) AS number", "'owner ' || number")
    with database.session_scope() as session:
        session.execute(text("SET LOCAL enable_seqscan = off"))  # which is cheaper for a table as small as this one
        state = find_state(session, LOCAL_OWNER, second)
        assert state is not None
        before = session.scalar(_ROWS_READ)
        found = find_place(session, state, ["behind a server"])
        assert (found.position, found.owners) == (2, 12)
        assert session.scalar(_ROWS_READ) - before < 50


def copy_for_owners(database: Database, job_id: str, numbers: str, owner: str) -> None:
    """Queue copies of a job."""
    columns = "dataset_id, spec"
    run_sql(
        database,
        f"INSERT INTO jobs (id, owner_id, {columns}) SELECT left(id, -4) || 1000 + number, {owner}, {columns} "
        f"FROM jobs, {numbers} WHERE id = '{job_id}'",
    )


def test_owners_who_wait_are_counted(client: TestClient, selections: Selections, database: Database) -> None:
    waiting, delayed = selections.queued(), selections.queued()
    for number, owner in enumerate("abb"):
        copy_for_owners(database, waiting, f"(VALUES ({number})) AS one(number)", f"'{owner}'")
    copy_for_owners(database, waiting, "(VALUES (3)) AS one(number)", "'c'")
    run_sql(database, "UPDATE jobs SET not_before = now() + interval '1h' WHERE owner_id = 'c'")
    run_sql(database, "UPDATE jobs SET not_before = now() + interval '1h' WHERE id = :id", id=delayed)

    assert place_of(client, waiting) == {"position": 1, "owners": 3, "workers": 0}
    assert place_of(client, delayed) == {"position": None, "owners": 3, "workers": 0}


@pytest.mark.usefixtures("worker_is_registered")
def test_living_workers_are_counted(client: TestClient, selections: Selections) -> None:
    assert place_of(client, selections.queued()) == {"position": 1, "owners": 1, "workers": 1}
    assert client.get("/readyz").json()["checks"]["workers"] == "ok"


def test_no_worker_is_told(client: TestClient, selections: Selections) -> None:
    assert place_of(client, selections.queued()) == {"position": 1, "owners": 1, "workers": 0}


@pytest.mark.usefixtures("worker_is_registered")
def test_jobs_of_servers_have_workers_and_places_of_their_own(
    make_client: Callable[..., TestClient], database: Database, settings: Settings
) -> None:
    endpoint = {"kind": "vllm", "url": "http://h", "model": "m"}
    client = make_client(endpoints={"served": endpoint})
    jobs = Selections(client, database)
    ids = [jobs.queued(model=model) for model in ("served", settings.default_model, "served")]
    found = [place_of(client, id_) for id_ in ids]
    assert [(place["position"], place["workers"]) for place in found] == [(1, 0), (1, 1), (2, 0)]  # type: ignore[index]
    assert client.get("/readyz").json()["checks"]["workers"].startswith("0 with LENS_WORKER_MODELS=endpoints: ")


def test_place_of_a_deleted_job_is_unknown(selections: Selections, database: Database) -> None:
    with database.session_scope() as session:
        state = find_state(session, LOCAL_OWNER, selections.queued())
    assert state is not None
    run_sql(database, "DELETE FROM jobs")
    with database.session_scope() as session:
        assert find_place(session, state).position is None


def test_workers_are_unknown_without_redis(make_client: Callable[..., TestClient], selections: Selections) -> None:
    client = make_client(redis_url="unix:///nowhere.sock")
    assert place_of(client, selections.queued()) == {"position": 1, "owners": 1, "workers": None}
    assert client.get("/readyz").json()["checks"]["workers"] == "ok"
