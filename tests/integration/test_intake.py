"""A large submission gets the answer of a small one, from another process."""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
import pytest
from starlette.testclient import TestClient

from app.intake import reader, receiving
from app.store.database import Database
from tests.e2e.processes import is_gone
from tests.e2e.waiting import until
from tests.integration.conftest import refusing_rows
from tests.integration.samples import make_csv, make_rows, make_spec, make_submission
from tests.open_files import list_open_files, needs_proc

Send = Callable[[TestClient], Any]

JSON = {"Content-Type": "application/json"}
CANARY = "canary-9d2c"
KEY = {"Idempotency-Key": "key-1"}


def post_files(client: TestClient, files: dict[str, bytes], **fields: str) -> Any:
    return client.post("/selections", files=files, data={"spec": json.dumps(make_spec()), **fields})


SENDERS: dict[str, Send] = {
    "rows": lambda client: client.post("/selections", json=make_submission()),
    "file": lambda client: post_files(client, {"dataset": make_csv()}),
    "files and columns": lambda client: post_files(
        client, {"dataset": make_csv(), "test": make_csv(make_rows()[:9])}, text_column="text"
    ),
    "not JSON": lambda client: client.post("/selections", content="{", headers=JSON),
    "too many objects": lambda client: client.post("/selections", content=f"[{'{},' * 300_000}0]", headers=JSON),
    "bad spec": lambda client: client.post("/selections", json=make_submission(template="no text", options={"x": 1})),
    "unknown model": lambda client: client.post("/selections", json=make_submission(model="other")),
    "unknown dataset": lambda client: client.post("/selections", json={"spec": make_spec(), "dataset_id": "ds_x"}),
    "bad rows": lambda client: post_files(client, {"dataset": b"text,label\n,positive\nfine,\n"}),
    "unknown kind of file": lambda client: post_files(client, {"dataset": b"\x00\x01\x02"}),
}


def answer_of(response: Any) -> tuple[int, dict[str, Any], dict[str, str]]:
    """What does not differ between two equal requests."""
    body = response.json()
    for name in ("id", "dataset_id", "test_dataset_id", "created_at", "queued_at", "request_id"):
        body.pop(name, None)
    headers = {name: value for name, value in response.headers.items() if name in {"retry-after", "content-type"}}
    return response.status_code, body, headers


@pytest.mark.parametrize("send", SENDERS.values(), ids=SENDERS)
def test_answer_is_that_of_a_small_submission(client: TestClient, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
    large = answer_of(send(client))
    assert readers()
    monkeypatch.setattr(receiving, "SMALL_BYTES", 2**30)
    assert answer_of(send(client)) == large


def test_reader_that_hangs_is_killed_and_replaced(
    make_client: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
    client = make_client()
    assert client.post("/selections", json=make_submission()).status_code == 202
    (hung,) = readers()
    hung.suspend()
    monkeypatch.setattr(reader, "_PATIENCE_SECONDS", 0.5)
    last_resort = threading.Timer(30, hung.kill)  # so that the test fails and does not hang, too
    last_resort.start()
    assert client.post("/selections", json=make_submission()).status_code == 503
    assert last_resort.is_alive()
    last_resort.cancel()
    assert is_gone(hung)
    assert "did not answer for 0.5 s and was killed" in caplog.text

    monkeypatch.setattr(reader, "_PATIENCE_SECONDS", 60)
    assert client.post("/selections", json=make_submission()).status_code == 202


@needs_proc
def test_reader_that_died_idle_costs_nobody_an_answer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
    assert client.post("/selections", json=make_submission()).status_code == 202
    (idle,) = readers()
    pipes_open = count_pipes()
    idle.kill()
    until(lambda: not psutil.pid_exists(idle.pid), "all its threads have ended")
    assert client.post("/selections", json=make_submission()).status_code == 202
    assert "ended with exit code -9 while it had nothing to do" in caplog.text
    assert count_pipes() == pipes_open


def test_outage_of_the_database_is_told(
    make_client: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
    client = make_client(database_url="postgresql://lens@127.0.0.1:1/lens")
    refused = client.post("/selections", json=make_submission())
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")


def test_no_reader_starts_once_the_service_has_ended(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
    client.app.state.reader.close()  # type: ignore[attr-defined]
    assert client.post("/selections", json=make_submission()).status_code == 503
    assert not readers()


def test_texts_are_in_no_log_of_the_reader(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
    body = make_submission()
    body["examples"][5]["text"] += CANARY
    with refusing_rows(database, "examples", f"text NOT LIKE '%{CANARY[:6]}%'"):
        response = client.post("/selections", json=body)
    log = capfd.readouterr().err
    assert (response.status_code, response.json()["code"]) == (500, "internal-error")
    assert response.json()["request_id"] in log
    assert "IntegrityError (SQLSTATE 23514)" in log
    assert "app/store/datasets.py" in log
    assert CANARY not in log + response.text


def test_refusals_of_the_service_keep_their_headers(
    make_client: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
    client = make_client(max_selections=1)
    first = client.post("/selections", json=make_submission(), headers=KEY)
    again = client.post("/selections", json=make_submission(), headers=KEY)
    assert (again.status_code, again.content) == (202, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"

    other = client.post("/selections", json=make_submission(name="other"), headers=KEY)
    assert other.json()["code"] == "idempotency-mismatch"
    refused = client.post("/selections", json=make_submission())
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-selections")
    assert refused.headers["Retry-After"] == "30"


def count_pipes() -> int:
    """How many ends of pipes this process has open. Those to a reader are some of them."""
    return sum(target.startswith("pipe:") for target in list_open_files())


def readers() -> list[psutil.Process]:
    """The readers that this process has started."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found
