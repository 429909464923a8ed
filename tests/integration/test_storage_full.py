"""No space left, in Postgres or for an upload: the request is refused, and nothing is half stored."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.database import Database
from tests.integration.samples import make_csv, make_rows, make_spec, make_submission, problem_of

_FULL = Path("/dev/full")
_TABLES = ("selections", "datasets", "examples", "idempotency_keys", "events")
_REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$
"""


@pytest.fixture
def full_postgres(database: Database) -> Iterator[Database]:
    """A database that has space for datasets and for no row of them."""
    _run(database, _REFUSE)
    _run(database, "CREATE TRIGGER is_full BEFORE INSERT ON examples EXECUTE FUNCTION refuse()")
    yield database
    _run(database, "DROP TRIGGER is_full ON examples")
    _run(database, "DROP FUNCTION refuse()")


def test_full_database_refuses_and_stores_nothing(client: TestClient, full_postgres: Database) -> None:
    response = client.post("/selections", json=make_submission(), headers={"Idempotency-Key": "k"})

    problem_of(response, 503, "storage-full")
    assert response.headers["retry-after"]
    assert [_count(full_postgres, table) for table in _TABLES] == [0] * len(_TABLES)


def test_submission_is_taken_once_there_is_space_again(client: TestClient, full_postgres: Database) -> None:
    key = {"Idempotency-Key": "k"}
    assert client.post("/selections", json=make_submission(), headers=key).status_code == 503
    _run(full_postgres, "ALTER TABLE examples DISABLE TRIGGER is_full")

    assert client.post("/selections", json=make_submission(), headers=key).status_code == 202


@pytest.mark.skipif(not _FULL.exists(), reason="needs /dev/full")
def test_full_disk_refuses_an_upload_and_stores_nothing(
    make_client: Callable[..., TestClient], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SpooledTemporaryFile, "rollover", _onto_full_device)
    rows = [{**row, "text": row["text"] + "x" * 15_000} for row in make_rows() * 3]  # more than is kept in memory
    files = {"dataset": ("data.csv", make_csv(rows))}

    response = make_client().post("/selections", files=files, data={"spec": json.dumps(make_spec())})

    problem_of(response, 503, "storage-full")
    assert [_count(database, table) for table in _TABLES] == [0] * len(_TABLES)


def _onto_full_device(_file: Any) -> None:
    """What the kernel does to every write on a full disk."""
    with _FULL.open("wb", buffering=0) as full:
        full.write(b"x")


def _run(database: Database, statement: str) -> None:
    with database.session_scope() as session:
        session.execute(text(statement))


def _count(database: Database, table: str) -> Any:
    with database.session_scope() as session:
        return session.execute(text(f"SELECT count(*) FROM {table}")).scalar()
