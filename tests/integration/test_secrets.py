"""What clients send, and what opens doors, is in no log and no error. tests/e2e/test_canary.py searches further."""

import hashlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis
from starlette.testclient import TestClient

from app.database import Database
from app.logs.setup import make_formatter
from app.settings import Settings
from tests.integration.conftest import refusing_rows
from tests.integration.samples import make_rows, make_submission

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


def test_texts_and_keys_are_not_in_redis(make_client: Callable[..., TestClient], settings: Settings) -> None:
    client = make_client(api_keys={hashlib.sha256(CANARY.encode()).hexdigest(): "alice"})
    response = client.post("/selections", json=submission_with_canary(), headers={"Authorization": f"Bearer {CANARY}"})
    assert response.status_code == 202
    with Redis.from_url(settings.redis_url) as redis:
        assert redis.keys("*")
        for key in redis.keys("rq:job:*"):
            assert CANARY not in repr(redis.hgetall(key))


def test_password_of_the_database_is_in_no_log(
    make_client: Callable[..., TestClient], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = make_client(
        database_url=f"postgresql://lens:{CANARY}@/lens?host={tmp_path}", redis_url=f"redis://:{CANARY}@127.0.0.1:1/0"
    )
    for path in ("/selections", "/readyz"):
        response = client.get(path)
        assert response.status_code == 503
        assert CANARY not in response.text
    assert CANARY not in caplog.text
