"""What clients send, and what opens doors, is in no log and no error."""

import logging
import sys
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import text
from starlette.testclient import TestClient

from app.logs import make_formatter
from app.settings import Settings
from app.store.database import Database
from app.store.tables import Base
from tests.api_keys import headers_of, key_of
from tests.integration.conftest import MakeClient, Selections, refusing_rows
from tests.integration.samples import make_rows, make_spec, make_submission

CANARY = "canary-4e1f"


def submission_with_canary() -> dict[str, object]:
    rows = make_rows()
    rows[5]["text"] += CANARY
    return {**make_submission(), "examples": rows}


def test_texts_are_in_no_log_even_when_the_database_refuses_them(
    client: TestClient, database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(caplog.handler, "formatter", make_formatter("json", sys.stderr))
    with refusing_rows(database, "examples", f"text NOT LIKE '%{CANARY[:6]}%'"):
        response = client.post("/selections", json=submission_with_canary())
    assert response.status_code == 500
    assert CANARY not in response.text
    assert CANARY not in caplog.text
    assert "IntegrityError (SQLSTATE 23514)" in caplog.text


def test_texts_and_keys_are_not_in_redis(make_guarded: MakeClient, settings: Settings) -> None:
    response = make_guarded("alice").post("/selections", json=submission_with_canary(), headers=headers_of("alice"))
    assert response.status_code == 202
    with Redis.from_url(settings.redis_url) as redis:
        assert redis.keys("*")
        for key in redis.keys("rq:job:*"):
            assert not [word for word in (CANARY, key_of("alice")) if word in repr(redis.hgetall(key))]


def test_texts_and_templates_are_where_the_page_on_privacy_says(client: TestClient, selections: Selections) -> None:
    def find_tables(word: str) -> set[str]:
        with selections.database.session_scope() as session:
            return {
                table.name
                for table in Base.metadata.sorted_tables
                if session.scalar(text(f"SELECT count(*) FROM {table.name} AS t WHERE t::text LIKE '%{word}%'"))
            }

    submission = submission_with_canary()
    spec = {
        **make_spec(),
        "template": f"{{text}} template{CANARY[6:]} {{label}}",
        "instruction": f"instruction{CANARY[6:]}",
    }
    made = client.post("/selections", json={**submission, "spec": spec}, headers={"Idempotency-Key": "key"}).json()
    assert find_tables(CANARY) == {"examples"}
    assert find_tables("template-4e1f") == find_tables("instruction-4e1f") == {"jobs", "idempotency_keys"}
    client.post(f"/selections/{made['id']}/cancel")
    assert client.delete(f"/selections/{made['id']}").status_code == 204
    assert (find_tables(CANARY), find_tables("template-4e1f")) == (set(), {"idempotency_keys"})

    selection_id, shown = selections.succeeded(), make_rows()[3]["text"]
    assert client.post(f"/selections/{selection_id}/render", json={"input": CANARY}).status_code == 200
    assert (find_tables(shown), find_tables(CANARY)) == ({"examples", "reports", "classifiers"}, set())


def test_password_is_in_no_log(make_client: MakeClient, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = make_client(
        database_url=f"postgresql://lens:{CANARY}@/lens?host={tmp_path}", redis_url=f"redis://:{CANARY}@127.0.0.1:1/0"
    )
    for path in ("/selections", "/readyz"):
        response = client.get(path)
        assert response.status_code == 503
        assert CANARY not in response.text
    assert CANARY not in caplog.text
