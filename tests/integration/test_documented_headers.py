"""Headers of real answers are those that the OpenAPI document names."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.integration.conftest import Selections
from tests.integration.samples import make_submission

NAMED = {"etag", "idempotent-replayed", "location", "retry-after", "www-authenticate"}
"""Headers with a meaning for this API. Others, such as the content type, belong to HTTP."""


def check(client: TestClient, path: str, response: Any, status: int, headers: set[str]) -> None:
    """The answer has these headers of `NAMED`, and the document names them for its status and its route."""
    assert response.status_code == status, response.text
    assert NAMED & set(response.headers) == headers
    document = client.app.openapi()  # type: ignore[attr-defined]
    operation = document["paths"][path][response.request.method.lower()]
    assert headers <= {name.lower() for name in operation["responses"][str(status)].get("headers", {})}


def test_submission(client: TestClient) -> None:
    first, again = (
        client.post("/selections", json=make_submission(), headers={"Idempotency-Key": "key"}) for _ in range(2)
    )
    check(client, "/selections", first, 202, {"location", "retry-after"})
    check(client, "/selections", again, 202, {"location", "retry-after", "idempotent-replayed"})


def test_selection_that_has_not_ended(selections: Selections) -> None:
    client, path, id_ = selections.client, "/selections/{selection_id}", selections.queued()
    shown = client.get(f"/selections/{id_}")
    check(client, path, shown, 200, {"etag", "retry-after"})
    known = client.get(f"/selections/{id_}", headers={"If-None-Match": shown.headers["etag"]})
    check(client, path, known, 304, {"etag", "retry-after"})
    for part in ("support-examples", "result", "classifier"):
        check(client, f"{path}/{part}", client.get(f"/selections/{id_}/{part}"), 409, {"retry-after"})
    rendered = client.post(f"/selections/{id_}/render", json={"input": "x"})
    check(client, f"{path}/render", rendered, 409, {"retry-after"})


@pytest.mark.parametrize("part", ["", "/support-examples", "/result", "/classifier"])
def test_selection_that_has_ended(selections: Selections, part: str) -> None:
    client, id_ = selections.client, selections.succeeded()
    path = "/selections/{selection_id}" + part
    check(client, path, client.get(f"/selections/{id_}{part}"), 200, {"etag"})
    known = client.get(f"/selections/{id_}{part}", headers={"If-None-Match": "*"})
    check(client, path, known, 304, {"etag"})


def test_request_without_a_key(make_client: Callable[..., TestClient]) -> None:
    client = make_client(api_keys={hashlib.sha256(b"key").hexdigest(): "alice"})
    for path in ("/selections", "/models"):
        check(client, path, client.get(path), 401, {"www-authenticate"})


def test_request_while_the_database_is_away(make_client: Callable[..., TestClient]) -> None:
    client = make_client(database_url="postgresql://lens@/lens?host=/nonexistent")
    for path in ("/selections", "/readyz"):
        check(client, path, client.get(path), 503, {"retry-after"})
