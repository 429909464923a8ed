"""A large submission gets the answer of a small one, from another process."""

import ctypes
import gzip
import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import psutil
import pytest
from starlette.testclient import TestClient

from app.errors import Unprocessable
from app.selections import reader, receiving
from app.selections.bodies import JsonBody
from app.store.database import Database
from tests.e2e.processes import is_gone
from tests.e2e.waiting import until
from tests.integration.conftest import MakeClient, refusing_rows
from tests.integration.samples import make_csv, make_rows, make_spec, make_submission
from tests.open_files import list_open_files, needs_proc

Send = Callable[[TestClient], Any]

JSON = {"Content-Type": "application/json"}
CANARY = "canary-9d2c"
KEY = {"Idempotency-Key": "key-1"}


_others = set[int]()


@pytest.fixture(scope="module", autouse=True)
def _note_others() -> None:
    """Other tests have left a reader running."""
    _others.update(reader.pid for reader in readers())


@pytest.fixture
def kept_reader() -> None:
    """Each app starts its own reader."""


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


def test_answer_is_that_of_a_small_submission(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, send in SENDERS.items():
        monkeypatch.setattr(receiving, "SMALL_BYTES", -1)
        large = answer_of(send(client))
        assert readers()
        monkeypatch.setattr(receiving, "SMALL_BYTES", 2**30)
        assert answer_of(send(client)) == large, name


with ZipFile(_packed := BytesIO(), "w") as _archive:
    _archive.writestr("data.csv", make_csv())
NO_TEXTS = [_packed.getvalue(), gzip.compress(make_csv()), b"PAR1\x15\x04", b"ARROW1\0\0"]


@pytest.mark.parametrize(
    ("path", "part"), [*((path, "dataset") for path in ("/datasets", "/pages/datasets")), ("/selections", "test")]
)
def test_small_file_that_is_no_text_is_left_to_the_reader(client: TestClient, path: str, part: str) -> None:
    client.app.state.reader.close()  # type: ignore[attr-defined]
    more = {"dataset": make_csv()} if part == "test" else {}
    answers = [client.post(path, files={**more, part: content}).status_code for content in (make_csv(), *NO_TEXTS)]
    assert [one == 503 for one in answers] == [False, True, True, True, True]


def fill_memory(*_: object) -> int:
    return len(bytes(2 * reader._MOST_BYTES))


def fill_memory_of_a_library(*_: object) -> None:
    """As code in Rust does that gets no memory."""
    allocate = ctypes.CDLL(None).malloc
    allocate.argtypes, allocate.restype = [ctypes.c_size_t], ctypes.c_void_p
    if not allocate(2 * reader._MOST_BYTES):
        os.abort()


def compute_for_ever(*_: object) -> None:
    while True:
        pass


def allow_a_second(_services: object) -> None:
    reader._MOST_CPU_SECONDS = 1


def test_upload_that_takes_too_much_is_refused_and_the_next_is_read(client: TestClient) -> None:
    state: Any = client.app.state  # type: ignore[attr-defined]
    refused = pytest.raises(Unprocessable, match=r"more than the 1,024 MiB of memory or the \d+ seconds of processor")
    for work in (fill_memory, fill_memory_of_a_library, compute_for_ever):
        state.reader.run(allow_a_second)
        with refused:
            receiving.Upload(state.services, state.reader, "local", JsonBody({}), is_large=True).do(work)
        assert state.reader.run(fill_memory) == 2**31  # no work after it is bounded
        assert len(readers()) == 1


def test_reader_that_hangs_is_killed_and_replaced(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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


def test_refusals_of_the_service_keep_their_headers(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
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
            if child.pid not in _others and "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found
