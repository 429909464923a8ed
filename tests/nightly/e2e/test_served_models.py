"""A model behind a server, in the service: a worker without torch, faults of both, and what becomes of the key."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest
from redis import Redis
from sqlalchemy import text
from starlette.responses import JSONResponse, Response

from app.store.states import Status
from app.store.tables.base import Base
from tests.e2e.processes import ROOT, Worker
from tests.e2e.stack import OPTIONS, Stack, make_submission
from tests.e2e.waiting import until
from tests.endpoints.double import Double, HashBehind, serving
from tests.nightly.e2e.test_frozen_workers import WORDINGS

KEY = "sk-zyzzyva-of-the-server"
UNDER_WAY = 2 * 16
"""Prompts whose answers a killed worker cannot have kept: of two requests. It keeps an answer before it asks again."""
_SHORT_WORDS = {"good": "G", "bad": "B"}
"""Label words of two tokens, the first in common: of 13 requests for longer words, two are left."""
_MORE_ROWS = {**OPTIONS, "splits": {"validation": 16, "confirmation": 8, "test": 8}}
_UNTIL_THE_SEARCH = 600
"""The search is under way after this many prompts: the filter asks 456, and the search 352 more."""
_BUSY_SECONDS = 180.0
"""Longest wait for a selection on a busy machine."""
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
    lens.wait_until_done(selection_id, _BUSY_SECONDS)
    asked, body = double.num_prompts, {"inputs": ["joy", "grief"], "prompts": "support_examples"}

    def answers() -> list[dict[str, Any]] | None:
        found = lens.client.post(f"/selections/{selection_id}/classify", json=body)
        return found.json()["answers"] if found.is_success else None  # 503 while the server is checked

    assert all(one["label"] for one in until(answers, "the server answers"))
    assert double.num_prompts > asked
    assert lens.api is not None
    assert not [one.path for one in psutil.Process(lens.api.pid).memory_maps() if "torch" in one.path]


def has_begun(phase: str, asked: Counter[tuple[int, ...]]) -> bool:
    """Whether the prompts that were asked are those of a phase: `wording` comes first, `forms` has long prompts."""
    if phase == "forms":
        return sum(bytes(prompt[1:]).count(b"\n") > OPTIONS["num_demonstrations"] + 1 for prompt in asked) > UNDER_WAY
    return len(asked) > {"wording": UNDER_WAY, "search": _UNTIL_THE_SEARCH}[phase]


@pytest.mark.parametrize("who", ["worker", "work-horse"])
@pytest.mark.parametrize("phase", ["wording", "search", "forms"])
def test_killed_worker_pays_for_no_answer_twice(
    lens: Stack, double: Double, phase: str, who: str, tmp_path: Path
) -> None:
    spec = {**WORDINGS, "verbalizer": _SHORT_WORDS, "options": _MORE_ROWS}
    start_worker(lens, LENS_CACHE_DIR=str(tmp_path / "whole"))
    whole = lens.wait_until_done(lens.submit("served", **spec), _BUSY_SECONDS)
    lens.workers.pop().stop()
    of_whole = count_asked(double)
    double.prompts.clear()
    refused = []

    def refuse(number: int) -> Response | None:
        """Keep the worker in the phase: a server that is busy only delays it."""
        if not has_begun(phase, count_asked(double)):
            return None
        refused.append(number)
        return JSONResponse({"error": {"message": "busy"}}, 503)

    double.refuse = refuse
    worker = start_worker(lens, LENS_CACHE_DIR=str(tmp_path / "cut"))
    selection_id = lens.submit("served", **spec)
    until(lambda: refused, f"{phase} is under way", _BUSY_SECONDS)
    named = "evaluate" if phase == "forms" else phase
    until(lambda: (lens.get(selection_id)["progress"] or {}).get("phase") == named, f"the service says {named}")
    (worker if who == "worker" else worker.wait_for_horse()).kill()
    double.refuse = None
    if who == "worker":
        start_worker(lens, LENS_CACHE_DIR=str(tmp_path / "cut"))
    cut = lens.wait_until_done(selection_id, _BUSY_SECONDS)
    of_cut = count_asked(double)
    assert cut["digest"] == whole["digest"]
    assert of_cut.keys() == of_whole.keys()
    assert cut["attempt"] >= 2  # a busy machine may also lose a lease
    for asked, selection in ((of_whole, whole), (of_cut, cut)):
        assert asked.total() - len(asked) <= UNDER_WAY * (selection["attempt"] - 1)


def count_asked(double: Double) -> Counter[tuple[int, ...]]:
    """How often each prompt was asked, without those of the checks: each connection asks them."""
    return Counter(prompt for prompt in double.prompts[:] if b"Question:" not in bytes(prompt[1:]))


def test_no_client_can_name_an_address(lens: Stack) -> None:
    with serving(Double(HashBehind())) as elsewhere:
        for model in (f"vllm:served@{elsewhere.url}", elsewhere.url, f"served@{elsewhere.url}"):
            response = lens.client.post("/selections", json=make_submission(model=model))
            assert response.status_code == 422, response.text
        for name in ("endpoint", "endpoints", "url", "endpoint_kind"):
            response = lens.client.post("/selections", json=make_submission(model="served", **{name: elsewhere.url}))
            assert response.status_code == 422, response.text
        options = {"endpoint": {"url": elsewhere.url}}
        response = lens.client.post("/selections", json=make_submission(model="served", options=options))
        assert response.status_code == 422, response.text
        assert (elsewhere.num_prompts, elsewhere.headers) == (0, [])


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
