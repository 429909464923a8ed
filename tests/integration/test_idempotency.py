import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.selections.bodies import JsonBody
from app.selections.submission import RequestKey, hold_key
from app.store.database import Database
from tests.integration.conftest import MakeClient, Selections, count_rows, refusing_rows
from tests.integration.samples import make_csv, make_spec, make_submission, problem_of


def post(client: TestClient, key: str, **spec: Any) -> Any:
    return client.post("/selections", json=make_submission(**spec), headers={"Idempotency-Key": key})


def test_repeated_request_gets_the_same_answer(client: TestClient, database: Database, selections: Selections) -> None:
    first = post(client, "key-1")
    selections.claim(first.json()["id"])
    second = post(client, "key-1")
    assert (first.status_code, second.status_code) == (202, 202)
    assert second.content == first.content
    assert second.headers["location"] == first.headers["location"]
    assert second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert count_rows(database, "jobs") == 1


def test_same_json_written_otherwise_is_the_same_request(client: TestClient) -> None:
    first = post(client, "key-1")
    reordered = json.dumps(dict(reversed(make_submission().items())), indent=3)
    headers = {"Idempotency-Key": "key-1", "Content-Type": "application/json"}
    second = client.post("/selections", content=reordered, headers=headers)
    assert second.json()["id"] == first.json()["id"]


def test_other_file_or_columns_under_the_same_key_are_refused(client: TestClient) -> None:
    def post_columns(more: bytes = b"", **columns: str) -> Any:
        content = make_csv().replace(b"text,label", b"text,text2", 1) + more
        return client.post(
            "/selections",
            files={"dataset": ("d.csv", content)},
            data={"spec": json.dumps(make_spec()), **columns},
            headers={"Idempotency-Key": "k"},
        )

    assert post_columns(label_column="text2").status_code == 202
    assert post_columns(label_column="text2").headers["idempotent-replayed"] == "true"
    problem_of(post_columns(label_column="label"), 422, "idempotency-mismatch")
    problem_of(post_columns(b"\nmore,positive", label_column="text2"), 422, "idempotency-mismatch")


def test_refused_request_does_not_use_up_its_key(client: TestClient) -> None:
    problem_of(post(client, "key-1", template="{text}"), 422, "invalid-template")
    assert post(client, "key-1").status_code == 202


def test_answer_outlives_its_selection(client: TestClient) -> None:
    first = post(client, "key-1")
    client.post(f"/selections/{first.json()['id']}/cancel")
    client.delete(f"/selections/{first.json()['id']}")
    assert post(client, "key-1").content == first.content


def test_request_in_flight_is_a_conflict(client: TestClient, database: Database) -> None:
    digest = JsonBody(make_submission()).digest()
    with database.session_scope() as session:
        hold_key(session, RequestKey("local", "key-1", digest))
        response = post(client, "key-1")
    problem_of(response, 409, "idempotency-in-flight")
    assert response.headers["retry-after"] == "1"
    assert post(client, "key-1").status_code == 202


def test_simultaneous_requests_make_one_selection(make_client: MakeClient, database: Database) -> None:
    client = make_client(max_submissions=8)  # no request waits, because the test client gives each its own event loop
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: post(client, f"key-{number % 3}"), range(24)))
    accepted = [answer for answer in answers if answer.status_code == 202]
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert len({answer.json()["id"] for answer in accepted}) == 3
    created = Counter("idempotent-replayed" in answer.headers for answer in accepted)
    assert created[False] == 3
    assert count_rows(database, "jobs") == 3


@pytest.mark.parametrize("key", ["", "x" * 256, "with space", "tab\there", "naïve"])
def test_key_that_is_no_key_is_refused(client: TestClient, key: str) -> None:
    response = client.post(
        "/selections",
        json=make_submission(),
        headers=[("Idempotency-Key", key.encode("latin-1"))],  # type: ignore[arg-type]
    )
    problem_of(response, 400, "bad-request")


def test_key_is_kept_in_the_transaction_of_its_selection(client: TestClient, database: Database) -> None:
    with refusing_rows(database, "idempotency_keys", "key <> 'cursed'"):
        assert post(client, "cursed").status_code == 500
    assert count_rows(database, "jobs") == 0
