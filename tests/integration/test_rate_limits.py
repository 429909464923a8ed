"""Rate limits by owner: headers, 429, and what happens without Redis."""

import hashlib
import re
import time
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from app.keys.service import create_key
from app.store.database import Database
from lens_cli.service.embedded import EmbeddedServers
from tests.integration.samples import make_submission, problem_of
from tests.outages import hung_redis

KEYS = {hashlib.sha256(owner.encode()).hexdigest(): owner for owner in ("alice", "bob")}
ALICE, BOB = ({"Authorization": f"Bearer {owner}"} for owner in ("alice", "bob"))


@pytest.fixture
def make_limited(make_client: Callable[..., TestClient]) -> Callable[..., TestClient]:
    return lambda **changes: make_client(**{"api_keys": KEYS, **changes})


def statuses(client: TestClient, number: int, headers: dict[str, str] = ALICE) -> list[int]:
    return [client.get("/selections", headers=headers).status_code for _ in range(number)]


def test_one_request_too_many_is_refused_and_says_when_to_ask_again(make_limited: Callable[..., TestClient]) -> None:
    client = make_limited(rate_requests="3/minute")
    assert statuses(client, 3) == [200] * 3
    refused = client.get("/selections", headers=ALICE)

    problem_of(refused, 429, "too-many-requests")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert refused.headers["RateLimit"] == f'"requests";r=0;t={refused.headers["Retry-After"]}'


def test_owners_are_counted_apart(make_limited: Callable[..., TestClient]) -> None:
    client = make_limited(rate_requests="2/minute")
    assert statuses(client, 3) == [200, 200, 429]
    assert statuses(client, 3, BOB) == [200, 200, 429]


def test_processes_count_together(make_limited: Callable[..., TestClient]) -> None:
    clients = [make_limited(rate_requests="2/minute") for _ in range(3)]
    assert [status for client in clients for status in statuses(client, 1)] == [200, 200, 429]


def test_answers_tell_the_limits_and_what_is_left(make_limited: Callable[..., TestClient]) -> None:
    client = make_limited(rate_requests="100/minute", rate_submissions="5/hour")
    response = client.post("/selections", json=make_submission(), headers=ALICE)
    assert response.headers["RateLimit-Policy"] == '"requests";q=100;w=60, "submissions";q=5;w=3600'
    assert re.fullmatch(r'"requests";r=99;t=\d+, "submissions";r=4;t=\d+', response.headers["RateLimit"])

    response = client.get("/selections", headers=ALICE)
    assert response.headers["RateLimit-Policy"] == '"requests";q=100;w=60'
    assert response.headers["RateLimit"].startswith('"requests";r=98;')


def test_submissions_have_a_limit_of_their_own(make_limited: Callable[..., TestClient]) -> None:
    client = make_limited(rate_submissions="1/minute")
    answers = [client.post("/selections", json=make_submission(), headers=ALICE) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 429]
    selection_id = answers[0].json()["id"]
    assert client.post(f"/selections/{selection_id}/retry", headers=ALICE).status_code == 429
    assert client.get(f"/selections/{selection_id}", headers=ALICE).status_code == 200


def test_submission_beyond_the_limit_of_requests_is_refused_and_counts_as_none(
    make_limited: Callable[..., TestClient],
) -> None:
    client = make_limited(rate_requests="1/minute", rate_submissions="5/minute")
    assert statuses(client, 1) == [200]
    refused = client.post("/selections", json=make_submission(), headers=ALICE)

    problem_of(refused, 429, "too-many-requests")
    assert refused.headers["RateLimit"].startswith('"requests";r=0;')
    assert "submissions" not in refused.headers["RateLimit"]


def test_window_moves(make_limited: Callable[..., TestClient]) -> None:
    client = make_limited(rate_requests="2/second")
    assert 429 in statuses(client, 20)
    time.sleep(1.1)
    assert statuses(client, 1) == [200]


def test_path_that_reaches_a_route_is_counted_as_that_route(make_limited: Callable[..., TestClient]) -> None:
    """A route matches before a line break at the end of a path."""
    client = make_limited(rate_submissions="1/minute")
    answers = [client.post("/selections%0A", json=make_submission(), headers=ALICE) for _ in range(2)]
    assert answers[-1].status_code in {404, 429}


@pytest.mark.parametrize(
    "changes", [{"api_keys": None, "rate_requests": "1/hour"}, {"rate_requests": None, "rate_submissions": None}]
)
def test_no_limit_without_keys_or_with_null(
    make_limited: Callable[..., TestClient], changes: dict[str, object]
) -> None:
    client = make_limited(**changes)
    assert statuses(client, 3) == [200] * 3
    assert "RateLimit" not in client.get("/selections", headers=ALICE).headers


def test_public_routes_and_wrong_keys_are_not_counted(make_limited: Callable[..., TestClient]) -> None:
    client = make_limited(rate_requests="1/hour")
    assert [client.get("/healthz").status_code for _ in range(3)] == [200] * 3
    assert statuses(client, 3, {"Authorization": "Bearer mallory"}) == [401] * 3
    assert statuses(client, 2) == [200, 429]


def test_without_redis_each_process_counts_for_itself(make_limited: Callable[..., TestClient]) -> None:
    client = make_limited(rate_requests="2/minute", redis_url="unix:///nowhere.sock")
    assert statuses(client, 4) == [200, 200, 429, 429]


def test_hung_redis_opens_no_door_and_holds_up_no_request(
    make_limited: Callable[..., TestClient], servers: EmbeddedServers
) -> None:
    client = make_limited(rate_requests="3/minute")
    assert statuses(client, 1) == [200]
    with hung_redis(servers):
        started = time.monotonic()
        assert statuses(client, 5) == [200, 200, 200, 429, 429]
        waited = time.monotonic() - started
    assert waited < 1


def test_keys_of_the_database_have_limits_in_an_open_service_too(
    make_client: Callable[..., TestClient], database: Database
) -> None:
    client = make_client(rate_requests="2/minute", key_cache_seconds=0)
    assert statuses(client, 3, {}) == [200] * 3
    key = create_key(database, "alice", "laptop").secret
    assert statuses(client, 3, {"Authorization": f"Bearer {key}"}) == [200, 200, 429]
