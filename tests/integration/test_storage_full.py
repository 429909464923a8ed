"""No space left, in Postgres or for an upload: the request is refused, and nothing is half stored."""

import errno
import json
import os
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from app.store.database import Database
from tests.integration.conftest import MakeClient, count_rows, run_sql
from tests.integration.samples import make_csv, make_spec, make_submission, problem_of

_TABLES = ("jobs", "datasets", "examples", "idempotency_keys", "events")
_REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$
"""


@pytest.fixture
def full_postgres(database: Database) -> Iterator[Database]:
    """A database that has space for datasets and for no row of them."""
    run_sql(database, _REFUSE)
    run_sql(database, "CREATE TRIGGER is_full BEFORE INSERT ON examples EXECUTE FUNCTION refuse()")
    yield database
    run_sql(database, "DROP TRIGGER is_full ON examples")
    run_sql(database, "DROP FUNCTION refuse()")


def test_full_database_refuses_and_stores_nothing(client: TestClient, full_postgres: Database) -> None:
    response = client.post("/selections", json=make_submission(), headers={"Idempotency-Key": "k"})

    problem_of(response, 503, "storage-full")
    assert response.headers["retry-after"]
    assert [count_rows(full_postgres, table) for table in _TABLES] == [0] * len(_TABLES)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_full_disk_refuses_an_upload_and_stores_nothing(
    make_client: MakeClient, database: Database, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(_folder: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("app.selections.form.open_upload", fail)
    files = {"dataset": ("data.csv", make_csv())}

    response = make_client().post("/selections", files=files, data={"spec": json.dumps(make_spec())})

    problem_of(response, 503, "storage-full")
    assert response.headers["retry-after"]
    assert [count_rows(database, table) for table in _TABLES] == [0] * len(_TABLES)
