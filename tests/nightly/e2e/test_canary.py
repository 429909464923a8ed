"""A word that clients send is planted everywhere and searched for everywhere: logs, Redis, events, errors, metrics.

The processes are real. The selections succeed, crash, fail by errors that quote the word, and are refused.
"""

import base64
import contextlib
import hashlib
import json
import zlib
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from redis import Redis
from sqlalchemy import text

from app.store.tables import Status
from tests.api_keys import headers_of, key_of, make_keys
from tests.e2e.processes import Process, status_at
from tests.e2e.stack import EXAMPLES, Stack, make_submission
from tests.e2e.waiting import until
from tests.ports import reserve_port

CANARY = "zyzzyvacanary"
KEY, METRICS_KEY = key_of("alice"), f"{CANARY}-metrics"
AUTHORIZED = {**headers_of("alice"), "Idempotency-Key": f"{CANARY}-idempotency"}


@pytest.fixture
def api(lens: Stack) -> Iterator[tuple[httpx.Client, Process]]:
    """A second API process over the same stores, which asks for keys."""
    port = reserve_port()
    make_keys(lens.database, "alice")
    environment = {
        **lens.environment,
        "LENS_METRICS_KEY_HASH": hashlib.sha256(METRICS_KEY.encode()).hexdigest(),
        "LENS_LOG_LEVEL": "DEBUG",
    }
    arguments = ["-m", "lens_cli", "serve", "--port", str(port)]
    process = Process("API", arguments, environment, lens.log_dir / f"api-{port}.log")
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=AUTHORIZED, timeout=20) as client:
        until(lambda: status_at(port, "/healthz") == 200, "the API answers")
        yield client, process
    process.stop()


def test_no_log_store_or_error_holds_what_clients_send(lens: Stack, api: tuple[httpx.Client, Process]) -> None:
    client, process = api
    worker = lens.start_worker(LENS_LOG_LEVEL="DEBUG")

    done = submit(client, "held")
    wait(client, done, Status.SUCCEEDED)
    crashed = [submit(client, model) for model in ("leaking", "poison")]
    for selection_id in crashed:
        wait(client, selection_id, Status.FAILED)
    with refusing_rows(lens, "reports"):  # the result of the worker is refused with its row
        refused = submit(client, "held")
        wait(client, refused, Status.FAILED)
    errors = provoke_refusals(client, done)
    errors += [client.get(f"/selections/{id_}").json()["error"] for id_ in (*crashed, refused)]
    errors += provoke_failures(client, lens, done)

    found_in_redis = sorted(values_of(lens.redis))
    assert any("RuntimeError" in value for value in found_in_redis), "RQ keeps the failure of the job"
    assert any("IntegrityError (SQLSTATE 23514)" in value for value in found_in_redis)
    metrics = httpx.get(f"{client.base_url}/metrics", headers={"Authorization": f"Bearer {METRICS_KEY}"})
    assert metrics.status_code == 200
    events = lens.scalar("SELECT string_agg(type || data::text, ' ') FROM events")
    places = {
        "log of the API": process.log(),
        "log of the worker": worker.log(),
        "log of Postgres": (lens.log_of_postgres).read_text("utf-8", "replace"),
        "Redis": "\n".join(found_in_redis),
        "events": events,
        "errors": json.dumps(errors),
        "metrics": metrics.text,
    }
    assert {name: excerpt(place) for name, place in places.items() if CANARY in place} == {}
    assert [name for name, place in places.items() if KEY in place] == []
    assert all(places.values())


def submission(model: str) -> dict[str, Any]:
    """The word is in every text, in a label, in the template and in a label word."""
    renamed = {"good": f"{CANARY}-label", "bad": "bad"}
    body = make_submission(
        model=model,
        template=f"{{text}} {CANARY}-template It was {{label}}.",
        verbalizer={f"{CANARY}-label": f"{CANARY}-word", "bad": "terrible"},
    )
    body["examples"] = [{"text": f"{CANARY}-text {row['text']}", "label": renamed[row["label"]]} for row in EXAMPLES]
    return body


def submit(client: httpx.Client, model: str) -> str:
    headers = {"Idempotency-Key": f"{CANARY}-{model}-{uuid4().hex}"}
    response = client.post("/selections", json=submission(model), headers=headers)
    assert response.status_code == 202, response.text
    return str(response.json()["id"])


def wait(client: httpx.Client, selection_id: str, status: Status) -> None:
    def reached() -> bool:
        found = client.get(f"/selections/{selection_id}").json()["status"]
        assert found in (status, Status.QUEUED, Status.RUNNING), found
        return bool(found == status)

    until(reached, f"{selection_id} becomes {status}", seconds=90)


def provoke_refusals(client: httpx.Client, done: str) -> list[Any]:
    """The bodies of refusals of each kind. `instance` repeats the path of the request, and is left out."""
    few = submission("held") | {"examples": [{"text": CANARY, "label": CANARY}]}
    unknown = submission(f"{CANARY}-model")
    template = submission("held")
    template["spec"]["template"] = f"{CANARY} without a slot"
    json_type = {"Content-Type": "application/json"}
    requests: list[tuple[int, str, str, dict[str, Any]]] = [
        (400, "POST", "/selections", {"content": f'{{"spec": "{CANARY}', "headers": json_type}),
        (401, "GET", "/selections", {"headers": {"Authorization": f"Bearer {CANARY}-wrong"}}),
        (404, "GET", f"/selections/{CANARY}", {}),
        (400, "GET", f"/selections/{done}?{CANARY}={CANARY}", {}),
        (404, "GET", f"/{CANARY}", {}),
        (400, "GET", f"/selections?cursor={CANARY}", {}),
        (400, "GET", f"/selections?limit={CANARY}", {}),
        (405, "PUT", f"/selections/{done}", {"content": CANARY}),
        (409, "POST", f"/selections/{done}/cancel", {}),
        (413, "POST", f"/selections/{done}/render", {"content": CANARY * 200_000}),
        (415, "POST", "/selections", {"headers": {"Content-Type": "text/plain"}, "content": CANARY}),
        (422, "POST", "/selections", {"json": few}),
        (422, "POST", "/selections", {"json": unknown}),
        (422, "POST", "/selections", {"json": template}),
    ]
    bodies = []
    for status, method, path, arguments in requests:
        response = client.request(method, path, **arguments)
        assert response.status_code == status, (method, path, response.text)
        bodies.append({name: value for name, value in response.json().items() if name != "instance"})
    return bodies


def provoke_failures(client: httpx.Client, lens: Stack, done: str) -> list[Any]:
    """The bodies of an answer 500, for Postgres refuses a row, and of 409, for what is stored cannot be read."""
    with refusing_rows(lens, "examples"):
        headers = {"Idempotency-Key": f"{CANARY}-500"}
        fresh = submission("held")  # rows that were not stored before
        fresh["examples"] = [{**row, "text": f"{row['text']}, again"} for row in fresh["examples"]]
        by_postgres = client.post("/selections", json=fresh, headers=headers)
    damage = "UPDATE classifiers SET classifier = to_jsonb(CAST(:word AS text)) WHERE job_id = :id RETURNING 1"
    assert lens.scalar(damage, word=CANARY, id=done) == 1
    by_pydantic = client.get(f"/selections/{done}/classifier")
    assert (by_postgres.status_code, by_pydantic.status_code) == (500, 409)
    return [by_postgres.json(), by_pydantic.json()]


@contextlib.contextmanager
def refusing_rows(lens: Stack, table: str) -> Iterator[None]:
    """Have Postgres refuse each new row of a table that holds the word, and repeat the row in its message."""

    def run(statement: str) -> None:
        with lens.database.session_scope() as session:
            session.execute(text(statement))

    refuse = "RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation', DETAIL = NEW::text"
    body = f"BEGIN IF NEW::text LIKE '%{CANARY}%' THEN {refuse}; END IF; RETURN NEW; END"
    run(f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")
    run(f"CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()")
    try:
        yield
    finally:
        run("DROP FUNCTION refuse() CASCADE")


def values_of(redis: Redis) -> Iterator[str]:
    """Every key and value of Redis, with what RQ packs unpacked."""
    for key in redis.keys("*"):
        kind = redis.type(key)
        read = {
            b"string": lambda name: [redis.get(name)],
            b"hash": lambda name: [part for pair in redis.hgetall(name).items() for part in pair],
            b"list": lambda name: redis.lrange(name, 0, -1),
            b"set": redis.smembers,
            b"zset": lambda name: redis.zrange(name, 0, -1),
            b"stream": lambda name: [
                part for _, fields in redis.xrange(name) for pair in fields.items() for part in pair
            ],
        }[kind]
        for value in (key, *read(key)):
            yield from _unpack(value)


def _unpack(value: bytes) -> Iterator[str]:
    yield value.decode("utf-8", "replace")
    with contextlib.suppress(zlib.error):
        yield zlib.decompress(value).decode("utf-8", "replace")
    with contextlib.suppress(ValueError, zlib.error):
        yield zlib.decompress(base64.b64decode(value, validate=True)).decode("utf-8", "replace")


def excerpt(place: str) -> str:
    position = place.index(CANARY)
    return place[max(0, position - 300) : position + 100]
