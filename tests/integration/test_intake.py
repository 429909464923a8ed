"""A heavy submission gets the answer of a light one, from another process."""

import json
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from starlette.testclient import TestClient

from app.selections import submissions
from tests.integration.samples import make_csv, make_rows, make_spec, make_submission

Send = Callable[[TestClient], Any]

JSON = {"Content-Type": "application/json"}
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
def test_answer_is_that_of_a_light_submission(client: TestClient, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "LIGHT_BYTES", 2**30)
    light = answer_of(send(client))
    monkeypatch.setattr(submissions, "LIGHT_BYTES", -1)
    assert answer_of(send(client)) == light
    assert [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]


def test_refusals_of_the_service_keep_their_headers(
    make_client: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions, "LIGHT_BYTES", -1)
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
