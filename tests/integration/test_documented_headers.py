"""Headers of real answers are those that the OpenAPI document names."""

from collections.abc import Callable
from functools import cache
from typing import Any

from starlette.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.integration.conftest import Selections
from tests.integration.samples import make_submission

NAMED = {"etag", "idempotent-replayed", "location", "retry-after", "www-authenticate"}
"""Headers with a meaning for this API. Others, such as the content type, belong to HTTP."""


@cache
def documented_paths() -> Any:
    return create_app(Settings(_env_file=None)).openapi()["paths"]


def check(path: str, response: Any, status: int, headers: set[str]) -> None:
    """The answer has these headers of `NAMED`, and the document names them for its status and its route."""
    assert response.status_code == status, response.text
    assert NAMED & set(response.headers) == headers
    operation = documented_paths()[path][response.request.method.lower()]
    assert headers <= {name.lower() for name in operation["responses"][str(status)].get("headers", {})}


def test_submission(client: TestClient) -> None:
    first, again = (
        client.post("/selections", json=make_submission(), headers={"Idempotency-Key": "key"}) for _ in range(2)
    )
    check("/selections", first, 202, {"location", "retry-after"})
    check("/selections", again, 202, {"location", "retry-after", "idempotent-replayed"})


def test_selection_that_has_not_ended(selections: Selections) -> None:
    client, path, id_ = selections.client, "/selections/{selection_id}", selections.queued()
    shown = client.get(f"/selections/{id_}")
    check(path, shown, 200, {"etag", "retry-after"})
    known = client.get(f"/selections/{id_}", headers={"If-None-Match": shown.headers["etag"]})
    check(path, known, 304, {"etag", "retry-after"})
    for part in ("support-examples", "result", "classifier"):
        check(f"{path}/{part}", client.get(f"/selections/{id_}/{part}"), 409, {"retry-after"})
    rendered = client.post(f"/selections/{id_}/render", json={"input": "x"})
    check(f"{path}/render", rendered, 409, {"retry-after"})


def test_selection_that_has_ended(selections: Selections) -> None:
    client, id_ = selections.client, selections.succeeded()
    for part in ("", "/support-examples", "/result", "/classifier"):
        path = "/selections/{selection_id}" + part
        check(path, client.get(f"/selections/{id_}{part}"), 200, {"etag"})
        known = client.get(f"/selections/{id_}{part}", headers={"If-None-Match": "*"})
        check(path, known, 304, {"etag"})


def test_request_without_a_key(make_client: Callable[..., TestClient]) -> None:
    client = make_client(require_keys=True)
    for path in ("/selections", "/models"):
        check(path, client.get(path), 401, {"www-authenticate"})


def test_request_while_the_database_is_away(make_client: Callable[..., TestClient]) -> None:
    client = make_client(database_url="postgresql://lens@/lens?host=/nonexistent")
    for path in ("/selections", "/readyz"):
        check(path, client.get(path), 503, {"retry-after"})
