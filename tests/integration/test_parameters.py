from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from tests.integration.conftest import MakeClient, Selections
from tests.integration.samples import problem_of


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
def test_websocket_is_refused(make_client: MakeClient, path: str, changes: dict[str, Any]) -> None:
    client = make_client(**changes)
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(path):
        pass
