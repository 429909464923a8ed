"""API keys, and walls between owners."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.database import Database
from app.lifecycle import claims, endings
from app.lifecycle.results import SelectionOutcome
from app.main import create_app
from app.settings import Settings
from tests.integration.samples import make_result, make_spec, make_submission, problem_of

_INPUTS = ({"input": "x"}, {"input": "x", "prompts": "support_examples"})
BODIES: dict[str, tuple[Any, ...]] = {
    "/selections/{selection_id}/render": _INPUTS,
    "/prompts/{name}/render": _INPUTS,
    "/prompts/{name}": ({"version": 1}, {"selection_id": "sel_01jd0000000000000000000000"}),
}
IDS = {"{selection_id}": "sel_01jd0000000000000000000000", "{name}": "nobodys"}
"""What a path has in place of an id, and an id of nobody."""
KEYS = {"alice": "key-of-alice", "bob": "key-of-bob"}


@pytest.fixture
def guarded(make_client: Callable[..., TestClient]) -> TestClient:
    return make_client(api_keys={hashlib.sha256(key.encode()).hexdigest(): owner for owner, key in KEYS.items()})


def as_(owner: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {KEYS[owner]}"}


@pytest.fixture
def alices(guarded: TestClient, database: Database) -> dict[str, Any]:
    """A finished selection of Alice, and a name that says what it found."""
    made: dict[str, Any] = guarded.post("/selections", json=make_submission(), headers=as_("alice")).json()
    with database.session_scope() as session:
        claim = claims.claim_job(session, made["id"], 60)
        assert claim is not None
        endings.finish(session, claim, SelectionOutcome(make_result()))
    body, headers = {"selection_id": made["id"]}, {**as_("alice"), "If-None-Match": "*"}
    assert guarded.put("/prompts/alices", json=body, headers=headers).status_code == 201
    return made


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic key-of-alice",
        "key-of-alice",
        "Bearer key-of-alice2",
        f"Bearer {hashlib.sha256(b'key-of-alice').hexdigest()}",
        "Bearer clé",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/selections"), ("POST", "/selections"), ("GET", "/models")])
def test_call_without_a_known_key_is_unauthorized(
    guarded: TestClient, method: str, path: str, authorization: str | None
) -> None:
    headers = [] if authorization is None else [("Authorization", authorization.encode("latin-1"))]
    response = guarded.request(method, path, headers=headers)  # type: ignore[arg-type]
    problem_of(response, 401, "unauthorized")
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/openapi.json", "/docs", "/docs/assets/swagger-ui.css"])
def test_health_and_documentation_need_no_key(guarded: TestClient, path: str) -> None:
    assert guarded.get(path).status_code == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_scheme_is_read_in_any_case(guarded: TestClient, scheme: str) -> None:
    response = guarded.get("/selections", headers={"Authorization": f"{scheme} {KEYS['alice']}"})
    assert response.status_code == 200


def test_owner_sees_and_uses_what_is_theirs(guarded: TestClient, alices: dict[str, Any]) -> None:
    path = f"/selections/{alices['id']}"
    assert guarded.get(path, headers=as_("alice")).status_code == 200
    assert [item["id"] for item in guarded.get("/selections", headers=as_("alice")).json()["items"]] == [alices["id"]]


def routes_of_one_thing() -> Iterator[tuple[str, str, Any]]:
    """Every documented route of one selection or name, with each body to send to it: a new route is tested too."""
    paths = create_app(Settings(_env_file=None)).openapi()["paths"]
    for path, operations in paths.items():
        if any(place in path for place in IDS):
            for method in operations:
                for body in BODIES.get(path, (None,)):
                    yield method.upper(), path, body


@pytest.mark.parametrize(("method", "path", "body"), [*routes_of_one_thing()])
def test_what_another_owner_has_is_not_found(
    guarded: TestClient, alices: dict[str, Any], method: str, path: str, body: Any
) -> None:
    alice_has = {"{selection_id}": alices["id"], "{name}": "alices"}
    place = next(place for place in IDS if place in path)
    headers = {**as_("bob"), **({"If-Match": "*"} if method in ("PUT", "DELETE") else {})}
    theirs, nobodys = (
        guarded.request(method, path.replace(place, ids[place]), json=body, headers=headers) for ids in (alice_has, IDS)
    )
    refusal, unknown = problem_of(theirs, 404, "not-found"), problem_of(nobodys, 404, "not-found")
    for varying in ("instance", "request_id"):
        del refusal[varying], unknown[varying]
    assert refusal == unknown
    assert guarded.get(f"/selections/{alices['id']}", headers=as_("alice")).json()["status"] == "succeeded"


def test_list_of_another_owner_is_empty(guarded: TestClient, alices: dict[str, Any]) -> None:
    assert alices["id"]
    for path in ("/selections", "/prompts"):
        assert guarded.get(path, headers=as_("bob")).json()["items"] == []


def test_selection_of_another_owner_cannot_be_named(guarded: TestClient, alices: dict[str, Any]) -> None:
    headers = {**as_("bob"), "If-None-Match": "*"}
    refusal = guarded.put("/prompts/bobs", json={"selection_id": alices["id"]}, headers=headers)
    problem_of(refusal, 422, "unknown-selection")
    assert guarded.get("/prompts/alices", headers=as_("bob")).status_code == 404


def test_dataset_of_another_owner_is_unknown(guarded: TestClient, alices: dict[str, Any]) -> None:
    body = {"spec": make_spec(), "dataset_id": alices["dataset_id"]}
    problem_of(guarded.post("/selections", json=body, headers=as_("bob")), 422, "unknown-dataset")
    assert guarded.post("/selections", json=body, headers=as_("alice")).status_code == 202


def test_two_owners_may_use_the_same_idempotency_key(guarded: TestClient) -> None:
    made = [
        guarded.post("/selections", json=make_submission(), headers={**as_(owner), "Idempotency-Key": "same"}).json()
        for owner in KEYS
    ]
    assert made[0]["id"] != made[1]["id"]
