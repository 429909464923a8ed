"""HEAD, Allow, unknown parameters, WebSockets, and the limit of connections."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from app.web.connection_limit import CONNECTIONS, Connections
from tests.integration.asgi import call
from tests.integration.conftest import Selections
from tests.integration.samples import problem_of


@pytest.mark.parametrize(
    "path",
    ["/", "/docs", "/healthz", "/readyz", "/models", "/selections", "/selections/{id}", "/selections/{id}/events"],
)
def test_head_has_the_headers_of_get_and_no_body(client: TestClient, selections: Selections, path: str) -> None:
    path = path.replace("{id}", selections.succeeded())
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    for name in ("content-type", "content-length", "etag", "cache-control", "vary"):
        assert head.headers.get(name) == got.headers.get(name), name


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/selections", "GET, HEAD, POST"),
        ("PUT", "/selections/{id}", "DELETE, GET, HEAD"),
        ("HEAD", "/selections/{id}/cancel", "POST"),
        ("DELETE", "/selections/{id}/events", "GET, HEAD"),
        ("POST", "/docs", "GET, HEAD"),
        ("DELETE", "/healthz", "GET, HEAD"),
    ],
)
def test_allow_lists_every_method_of_the_path(client: TestClient, method: str, path: str, allowed: str) -> None:
    response = client.request(method, path.replace("{id}", "sel_01jd0000000000000000000000"))
    assert (response.status_code, response.headers["allow"]) == (405, allowed)
    if method != "HEAD":
        problem_of(response, 405, "method-not-allowed")


@pytest.mark.parametrize(
    ("method", "path", "advice"),
    [
        ("GET", "/selections?state=queued", "the parameters are cursor, limit, status"),
        ("GET", "/selections?limit=1&Limit=2", "the parameters are cursor, limit, status"),
        ("GET", "/selections/{id}?verbose=1", "this address takes none"),
        ("GET", "/selections/{id}/events?page=2", "the parameters are cursor, limit"),
        ("POST", "/selections/{id}/cancel?force=1", "this address takes none"),
        ("GET", "/models?x=1", "this address takes none"),
    ],
)
def test_unknown_parameter_is_refused(
    client: TestClient, selections: Selections, method: str, path: str, advice: str
) -> None:
    selection_id = selections.queued()
    body = problem_of(client.request(method, path.replace("{id}", selection_id)), 400, "bad-request")
    assert advice in body["detail"]
    assert selections.status_of(selection_id) == "queued"


def test_probe_may_add_parameters(client: TestClient) -> None:
    assert client.get("/healthz?probe=1").status_code == 200


@pytest.mark.parametrize("changes", [{}, {"require_keys": True}])
@pytest.mark.parametrize("path", ["/selections", "/", "/healthz"])
def test_websocket_is_refused(make_client: Callable[..., TestClient], path: str, changes: dict[str, Any]) -> None:
    client = make_client(**changes)
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(path):
        pass


def test_request_above_the_limit_of_connections_is_a_problem_with_retry_after(client: TestClient) -> None:
    for open_, status in (([1, 2], 200), ([1, 2, 3], 503)):
        sent, _ = call(client.app, "GET", "/healthz", {}, {CONNECTIONS: Connections(open_, 2)})
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        assert sent[0]["status"] == status
    assert headers["content-type"] == "application/problem+json"
    assert (headers["retry-after"], headers["connection"]) == ("5", "close")
    assert headers["x-request-id"]
