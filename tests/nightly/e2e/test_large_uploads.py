"""A large dataset is read by a process of its own, which may die and does not outlive the API."""

import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import psutil
import pytest
from sqlalchemy import text

from app.selections.receiving import SMALL_BYTES
from app.store.tables import Status
from tests.e2e.processes import Process, is_gone
from tests.e2e.stack import Stack, make_submission
from tests.e2e.waiting import until


@pytest.fixture
def api(port: int) -> Iterator[httpx.Client]:
    """A client of the second API."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        yield client


def test_small_requests_wait_for_no_large_upload(lens: Stack, second_api: Process, api: httpx.Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        with datasets_locked(lens):
            large = pool.submit(upload, api)
            wait_for_reader(second_api, lens, large)
            assert api.get("/selections").status_code == 200
            refused = api.post("/selections", json=make_submission(template="no place for a text"))
            assert not large.done()
        assert refused.status_code == 422
        assert large.result().status_code == 202


def test_the_reader_ends_when_the_api_is_killed(lens: Stack, second_api: Process, api: httpx.Client) -> None:
    with datasets_locked(lens), ThreadPoolExecutor(1) as pool:
        answer = pool.submit(upload, api)
        reader = wait_for_reader(second_api, lens, answer)
        second_api.kill()
        with pytest.raises(httpx.TransportError):
            answer.result()
        try:
            until(lambda: is_gone(reader), "the reader is gone", seconds=5)  # sooner than its statement times out
        finally:
            with suppress(psutil.NoSuchProcess):
                reader.kill()


def test_signal_to_all_leaves_an_upload_its_answer(lens: Stack, second_api: Process, api: httpx.Client) -> None:
    with ThreadPoolExecutor(1) as pool:
        with datasets_locked(lens):
            answer = pool.submit(upload, api)
            reader = wait_for_reader(second_api, lens, answer)
            os.killpg(second_api.pid, signal.SIGTERM)
        response = answer.result()
    assert (response.status_code, response.json()["status"]) == (202, Status.QUEUED)
    assert second_api.wait(10) in (0, -signal.SIGTERM)
    until(lambda: is_gone(reader), "the reader is gone")


def upload(api: httpx.Client) -> httpx.Response:
    """POST a dataset that is too large to be read beside other requests."""
    body = make_submission()
    label = body["examples"][0]["label"]
    body["examples"] = [*body["examples"], *({"text": f"row {n} {'long ' * 20}", "label": label} for n in range(800))]
    content = json.dumps(body).encode()
    assert len(content) > SMALL_BYTES
    return api.post("/selections", content=content, headers={"Content-Type": "application/json"})


def wait_for_reader(api: Process, lens: Stack, answer: Future[httpx.Response]) -> psutil.Process:
    """The process that reads, once it waits for its lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%datasets%'"
    until(lambda: answer.done() or lens.scalar(waiting) == 1, "the upload waits for the lock")
    assert not answer.done(), answer.result().text
    (reader,) = [one for one in psutil.Process(api.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    return reader


@contextmanager
def datasets_locked(lens: Stack) -> Iterator[None]:
    """Nobody can store a dataset until the block ends."""
    with lens.database.session_scope() as session:
        session.execute(text("LOCK TABLE datasets IN EXCLUSIVE MODE"))
        yield
