"""A model behind a server, in the service: a worker without torch, faults of both, and what becomes of the key."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest
from redis import Redis
from sqlalchemy import text
from starlette.responses import JSONResponse

from app.store.tables import Base, Status
from tests.e2e.processes import ROOT, Worker
from tests.e2e.stack import Stack, make_submission
from tests.e2e.waiting import until
from tests.endpoints.double import Double, HashBehind, serving

KEY = "sk-zyzzyva-of-the-server"
_NOTE_NAMES = """
import os, sys

def note(event, values):
    if event == "socket.getaddrinfo":
        with open(os.environ["NOTED_NAMES"], "a") as file:
            print(values[0] if isinstance(values[0], str) else values[0].decode(), file=file)

sys.addaudithook(note)
"""


@pytest.fixture
def double(lens: Stack) -> Iterator[Double]:
    with serving(Double(HashBehind()), port_of(lens)) as started:
        yield started


def port_of(lens: Stack) -> int:
    return int(lens.settings.endpoints["served"].url.rpartition(":")[2])


def start_worker(lens: Stack, **environment: str) -> Worker:
    return lens.start_worker(LENS_WORKER_MODELS="endpoints", KEY_OF_SERVED=KEY, **environment)


def test_selection_is_run_by_a_worker_without_torch(lens: Stack, double: Double) -> None:
    double.seconds = 0.05
    lens.start_worker()  # it loads models, and leaves these jobs alone
    worker = start_worker(lens)
    selection_id = lens.submit("served")
    until(lambda: double.num_prompts > 100, "the server is asked")
    horse = worker.wait_for_horse()
    assert not [one.path for one in horse.memory_maps() if "torch" in one.path]
    double.seconds = 0.0
    selection = lens.wait_until_done(selection_id)
    assert selection["status"] == Status.SUCCEEDED, lens.logs()
    provenance = lens.client.get(f"/selections/{selection_id}/result").json()["provenance"]
    assert (provenance["model"], provenance["device"]) == ("served", "endpoint")
    assert {headers["authorization"] for headers in double.headers} == {f"Bearer {KEY}"}
    rendered = lens.client.post(f"/selections/{selection_id}/render", json={"input": "a new message"}).json()
    assert rendered["prompts"][0]["prompt"].endswith("a new message It was")
    lens.check_invariants()


def test_texts_are_asked_of_the_server_by_the_api(lens: Stack, double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lens.environment, "KEY_OF_SERVED", KEY)  # for the API too
    lens.stop_api()
    lens.start_api()
    start_worker(lens)
    selection_id = lens.submit("served")
    lens.wait_until_done(selection_id)
    asked, body = double.num_prompts, {"inputs": ["joy", "grief"], "prompts": "support_examples"}

    def answers() -> list[dict[str, Any]] | None:
        found = lens.client.post(f"/selections/{selection_id}/classify", json=body)
        return found.json()["answers"] if found.is_success else None  # 503 while the server is checked

    assert all(one["label"] for one in until(answers, "the server answers"))
    assert double.num_prompts > asked
    assert lens.api is not None
    assert not [one.path for one in psutil.Process(lens.api.pid).memory_maps() if "torch" in one.path]


def test_no_address_in_what_a_client_sends_is_asked_or_resolved(lens: Stack, double: Double, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_NOTE_NAMES)
    noted = tmp_path / "names"
    url = f"http://localhost:{port_of(lens)}"
    endpoints = {name: {**asdict(one), "url": url} for name, one in lens.settings.endpoints.items()}
    with serving(Double(HashBehind())) as elsewhere:
        places = f"{elsewhere.url} vllm:served@http://elsewhere.invalid"
        body = make_submission(model="served", name=places, template=f"{places} {{text}} It was {{label}}.")
        body["examples"] = [{**one, "text": f"{one['text']} at {places}"} for one in body["examples"]]
        variables = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "NOTED_NAMES": str(noted)}
        start_worker(lens, LENS_ENDPOINTS=json.dumps(endpoints), **variables)
        response = lens.client.post("/selections", json=body)
        assert response.status_code == 202, response.text
        until(lambda: any(b"elsewhere.invalid" in bytes(one) for one in double.prompts), "the server is asked")
        lens.cancel(response.json()["id"])
        lens.wait_for(response.json()["id"], Status.CANCELLED)
        assert (elsewhere.num_prompts, elsewhere.headers) == (0, [])
    assert {headers["host"] for headers in double.headers} == {url.removeprefix("http://")}
    names = set(noted.read_text().split())
    assert "localhost" in names
    assert names <= {"localhost", "127.0.0.1"}


def test_key_of_the_server_is_kept_nowhere(lens: Stack, double: Double) -> None:
    worker = start_worker(lens, LENS_LOG_LEVEL="DEBUG")
    done = lens.submit("served")
    lens.wait_until_done(done)
    double.refuse = lambda _: JSONResponse({"error": {"message": f"wrong key {KEY}"}}, 401)
    failed = lens.submit("served", template="Other: {text} It was {label}.")
    selection = lens.wait_until_done(failed)
    assert selection["status"] == Status.FAILED
    assert "name the environment variable" in selection["error"]["detail"]
    seen = [worker.log(), *(lens.client.get(f"/selections/{one}/events").text for one in (done, failed))]
    seen += [lens.client.get(f"/selections/{one}").text for one in (done, failed)]
    seen += [lens.client.get(f"/selections/{done}/result").text, lens.client.get("/models").text]
    with lens.database.session_scope() as session:
        for table in Base.metadata.sorted_tables:
            seen += [str(row[0]) for row in session.execute(text(f"SELECT t::text FROM {table.name} t"))]
    with Redis.from_url(lens.settings.redis_url) as redis:
        seen += [repr(redis.dump(key)) for key in redis.keys("*")]
    files = [path for path in lens.settings.cache_dir.rglob("*") if path.is_file()]
    assert files
    assert any("sel_" in one for one in seen)
    assert not [one for one in seen if KEY in one]
    assert not [path for path in (*files, *lens.log_dir.glob("*.log")) if KEY.encode() in path.read_bytes()]
