"""A repeated upload of the same rows is stored once, also while the stored rows are about to be deleted."""

from sqlalchemy import text
from starlette.testclient import TestClient

from app.store.database import Database
from app.store.datasets import delete_unused_datasets
from app.web.authentication import LOCAL_OWNER
from tests.integration.conftest import count_rows
from tests.integration.samples import make_rows, make_submission


def submit(client: TestClient, rows: list[dict[str, str]] | None = None, **request: object) -> str:
    body = make_submission() if rows is None else {**make_submission(), "examples": rows}
    response = client.post("/selections", json=body, **request)  # type: ignore[arg-type]
    assert response.status_code == 202, response.text
    return str(response.json()["dataset_id"])


def test_other_rows_and_other_warnings_are_another_dataset(client: TestClient) -> None:
    first = submit(client)
    assert submit(client, make_rows()[:-1]) != first
    with_an_unused_column = [{**row, "source": "web"} for row in make_rows()]
    assert submit(client, with_an_unused_column) != first


def test_shared_dataset_is_deleted_with_its_last_selection(client: TestClient, database: Database) -> None:
    made = [client.post("/selections", json=make_submission()).json()["id"] for _ in range(2)]
    for selection_id, left in zip(made, (1, 0), strict=True):
        client.post(f"/selections/{selection_id}/cancel")
        assert client.delete(f"/selections/{selection_id}").status_code == 204
        assert count_rows(database, "datasets") == left


def test_dataset_under_deletion_is_not_used(client: TestClient, database: Database) -> None:
    first = submit(client)
    with database.session_scope() as session:
        session.execute(text("DELETE FROM jobs"))
        delete_unused_datasets(session, LOCAL_OWNER, [first])
        second = submit(client)  # while the deletion is not committed
    assert second != first
    assert count_rows(database, "datasets") == 1
    assert submit(client) == second
