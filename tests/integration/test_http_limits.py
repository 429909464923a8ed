"""What every route shares: body limits, request ids, the framework's own refusals, outages."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from app.store.schema import upgrade_schema
from tests.api_keys import headers_of
from tests.integration.asgi import call
from tests.integration.conftest import MakeClient, write_revision
from tests.integration.samples import make_csv, make_spec, make_submission, problem_of
from tests.outages import absent, frozen_backends


def in_chunks(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), 500):
        yield content[start : start + 500]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("path", ["/selections", "/selections/sel_01jd0000000000000000000000/render"])
def test_body_one_byte_over_the_cap_is_too_large(make_client: MakeClient, path: str, chunked: bool) -> None:
    client = make_client(max_upload_bytes=2000, max_body_bytes=2000)
    content = b'{"input": "' + b"x" * (2001 - 13) + b'"}'
    assert len(content) == 2001
    headers = {"Content-Type": "application/json"}
    response = client.post(path, content=in_chunks(content) if chunked else content, headers=headers)
    problem_of(response, 413, "content-too-large")


@pytest.mark.parametrize("chunked", [False, True])
def test_body_of_exactly_the_cap_is_read(make_client: MakeClient, chunked: bool) -> None:
    content = json.dumps(make_submission()).encode()
    client = make_client(max_upload_bytes=len(content))
    headers = {"Content-Type": "application/json"}
    response = client.post("/selections", content=in_chunks(content) if chunked else content, headers=headers)
    assert response.status_code == 202


@pytest.mark.parametrize("chunked", [False, True])
def test_json_over_its_own_cap_is_to_be_sent_as_a_file(make_client: MakeClient, chunked: bool) -> None:
    content = json.dumps(make_submission()).encode()
    client = make_client(max_json_bytes=len(content) - 1)
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    response = client.post("/selections", content=in_chunks(content) if chunked else content, headers=headers)
    body = problem_of(response, 413, "content-too-large")
    assert "send a larger dataset as a file, in a form (multipart/form-data) of up to 52428800 bytes" in body["detail"]
    rows = make_csv() + b"\n" + b"\n".join(b"a further text %d,positive" % number for number in range(1000))
    form = client.post("/selections", files={"dataset": rows}, data={"spec": json.dumps(make_spec())})
    assert form.status_code == 202


@pytest.mark.parametrize("unit", [b"[]", b'{"a":1}'])
def test_json_of_far_too_many_small_values_is_refused_before_it_is_built(make_client: MakeClient, unit: bytes) -> None:
    client = make_client(max_rows=1000)
    spec = json.dumps(make_spec()).encode()
    content = b'{"spec": %b, "examples": [%b]}' % (spec, b",".join([unit] * 3001))
    response = client.post("/selections", content=content, headers={"Content-Type": "application/json"})
    body = problem_of(response, 413, "content-too-large")
    assert "more than 3,000 objects and lists; send a larger dataset as a file" in body["detail"]


@pytest.mark.parametrize(
    ("headers", "changes", "status"),
    [
        ({"Content-Length": "1000000"}, {"require_keys": True}, 401),
        ({"Content-Length": "1000000"}, {"max_upload_bytes": 5000}, 413),
        ({"Content-Length": "9" * 5000}, {}, 413),
        ({"Content-Type": "text/csv"}, {}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, {}, 415),
        ({"Content-Type": "multipart/form-data; boundary=edge", "Content-Encoding": "gzip"}, {}, 415),
        ({"Content-Type": "application/json", "Content-Encoding": "br"}, {}, 415),
    ],
)
def test_refusal_that_needs_no_body_reads_none(
    make_client: MakeClient, headers: dict[str, str], changes: dict[str, Any], status: int
) -> None:
    sent, asked = call(make_client(**changes).app, "POST", "/selections", headers)
    assert sent[0]["status"] == status
    assert asked == 0


def routes_with_a_body() -> list[tuple[str, str]]:
    paths = create_app(Settings(_env_file=None)).openapi()["paths"]
    return [
        (method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "requestBody" in operation
    ]


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-json"}])
def test_body_of_another_media_type_is_refused_with_the_right_one(client: TestClient, headers: dict[str, str]) -> None:
    for method, path in routes_with_a_body():
        where = path.replace("{selection_id}", "sel_01jd0000000000000000000000").replace("{name}", "triage")
        sent = client.request(method, where, content=b"{}", headers=headers)
        body = problem_of(sent, 415, "unsupported-media-type")
        assert "application/json" in body["detail"]
        assert ("Content-Type is missing" in body["detail"]) == (not headers)


def test_lying_length_does_not_lift_the_cap(make_client: MakeClient) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": "10"}
    sent, asked = call(make_client(max_upload_bytes=5000).app, "POST", "/selections", headers)
    assert sent[0]["status"] == 413
    assert asked == 6


def test_other_method_is_refused(client: TestClient) -> None:
    body = problem_of(client.put("/selections"), 405, "method-not-allowed")
    assert "/docs lists those" in body["detail"]


@pytest.mark.parametrize("path", ["/nowhere", "/selections/"])
def test_unknown_path_is_not_found(client: TestClient, path: str) -> None:
    body = problem_of(client.get(path), 404, "not-found")
    assert body["instance"] == path


def test_harmless_request_id_is_repeated(client: TestClient) -> None:
    for given in ("a", "Trace-1.2_3", "x" * 64):
        assert client.get("/healthz", headers={"X-Request-ID": given}).headers["x-request-id"] == given


def test_other_request_id_is_replaced(client: TestClient) -> None:
    for given in ("", "x" * 65, "x" * 10_000, "a b", "a;b", "<script>", "a\tb", "é"):
        response = client.get("/nowhere", headers=[("X-Request-ID", given.encode("latin-1"))])  # type: ignore[arg-type]
        returned = response.headers["x-request-id"]
        assert returned != given
        assert len(returned) == 32
        assert response.json()["request_id"] == returned


ROUTES = [
    ("GET", "/selections"),
    ("POST", "/selections"),
    ("GET", "/selections/sel_01jd0000000000000000000000"),
    ("GET", "/selections/sel_01jd0000000000000000000000/events"),
    ("GET", "/selections/sel_01jd0000000000000000000000/support-examples"),
    ("POST", "/selections/sel_01jd0000000000000000000000/cancel"),
    ("DELETE", "/selections/sel_01jd0000000000000000000000"),
    ("POST", "/selections/sel_01jd0000000000000000000000/classify"),
    ("POST", "/prompts/triage/classify"),
    ("GET", "/prompts/triage/evaluations"),
]


def test_database_that_is_away_is_503(make_guarded: MakeClient, settings: Settings) -> None:
    client, headers = make_guarded("alice", key_cache_seconds=60), headers_of("alice")
    assert client.get("/models", headers=headers).status_code == 200  # the key is known from here on
    bodies: dict[str, Any] = {"selections": make_submission(), "classify": {"inputs": ["x"]}}
    with absent(settings):
        for method, path in ROUTES:
            body = bodies.get(path.rpartition("/")[2])
            response = client.request(method, path, json=body, headers=headers)
            body = problem_of(response, 503, "unavailable")
            assert "may or may not have been carried out" in body["detail"]
            assert response.headers["retry-after"] == "5"
            assert "lens_tests" not in response.text  # the name of the database


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_database_that_hangs_is_503_within_seconds(make_client: MakeClient) -> None:
    with silent_server() as port:
        started = time.monotonic()
        response = make_client(database_url=f"postgresql://lens@127.0.0.1:{port}/lens").get("/selections")
        problem_of(response, 503, "unavailable")
        assert time.monotonic() - started < 9


def test_redis_that_hangs_does_not_refuse_a_selection(make_client: MakeClient) -> None:
    with silent_server() as port:
        started = time.monotonic()
        client = make_client(redis_url=f"redis://127.0.0.1:{port}/0")
        assert client.post("/selections", json=make_submission()).status_code == 202
        assert time.monotonic() - started < 9


def test_health_and_readiness_are_ok(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    assert ready.json()["checks"] == {
        "database": "ok",
        "migrations": "ok",
        "redis": "ok",
        "workers": "0: no worker is registered; submissions wait until one is started",
    }


def test_frozen_postgres_holds_no_request(make_client: MakeClient, settings: Settings) -> None:
    """A connection that does not answer is cut, and the request goes on with a new one."""
    client = make_client(statement_timeout_seconds=1)
    assert client.get("/selections").status_code == 200
    started = time.monotonic()
    with frozen_backends(settings):
        assert client.get("/selections").status_code == 200
        assert time.monotonic() - started < 15


def test_probes_write_no_line_of_the_log(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    for path in ("/healthz", "/readyz"):
        client.get(path)
    assert [record for record in caplog.records if record.name.partition(".")[0] in {"app", "alembic"}] == []
    client.get("/models")
    assert [record.message for record in caplog.records if record.name == "app.web.access_log"] == ["GET /models 200"]


def test_ready_without_redis_and_says_so(make_client: MakeClient, tmp_path: Path) -> None:
    response = make_client(redis_url=f"unix://{tmp_path}/nothing.sock").get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    checks = response.json()["checks"]
    assert (checks["database"], checks["migrations"]) == ("ok", "ok")
    assert checks["redis"].startswith("does not answer")


def test_ready_after_the_migration_of_a_newer_release(make_client: MakeClient, empty_database: Settings) -> None:
    upgrade_schema(empty_database)
    client = make_client(database_url=empty_database.database_url)
    write_revision(empty_database, "9999")
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    assert "at revision 9999, newer than" in response.json()["checks"]["migrations"]


def test_not_ready_before_the_migration_of_this_release(make_client: MakeClient, empty_database: Settings) -> None:
    client = make_client(database_url=empty_database.database_url)
    body = problem_of(client.get("/readyz"), 503, "unavailable")
    assert [error["pointer"] for error in body["errors"]] == ["/checks/migrations"]


def test_alive_and_not_ready_with_neither_store(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(
        database_url=f"postgresql://lens@/lens?host={tmp_path}", redis_url=f"unix://{tmp_path}/nothing.sock"
    )
    assert client.get("/healthz").status_code == 200
    body = problem_of(client.get("/readyz"), 503, "unavailable")
    assert [error["pointer"] for error in body["errors"]] == ["/checks/database", "/checks/migrations"]


def test_models_name_the_default(make_client: MakeClient) -> None:
    client = make_client(allowed_models={"a": "org/a", "b": "/models/b"}, default_model="b")
    assert client.get("/models").json() == {
        "items": [{"name": "a", "is_default": False}, {"name": "b", "is_default": True}]
    }
