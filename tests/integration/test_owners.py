from typing import Any

import pytest
from starlette.testclient import TestClient

from app.lifecycle import claims, endings
from app.main import create_app
from app.settings import Settings
from app.store.database import Database
from app.store.keys import hash_key
from lens_engine.prompt.pool import Pool
from tests.api_keys import headers_of as as_
from tests.api_keys import key_of
from tests.integration.conftest import MakeClient, transact
from tests.integration.prompts_with_pools import make_finding_result, make_pool_of_rows
from tests.integration.samples import make_bag_of_words, make_spec, make_submission, problem_of

_INPUTS = ({"json": {"input": "x"}},)
_SHOWN: tuple[dict[str, Any], ...] = ({}, {"params": {"input": "x"}})
_CLASSIFIED = ({"json": {"inputs": ["x"]}}, {"json": {"inputs": ["x"], "prompts": "support_examples"}})
_TEXTS = ({"files": {"texts": b"text\nx\n"}},)
_ANSWERED = ({"files": {"texts": b"text\nx\n", "answers": b"[{}]"}},)
BODIES: dict[str, tuple[dict[str, Any], ...]] = {
    "/selections/{selection_id}/render": _INPUTS,
    "/prompts/{name}/render": _INPUTS,
    "/selections/{selection_id}/support-examples": _SHOWN,
    "/prompts/{name}/support-examples": _SHOWN,
    "/prompts/{name}": ({"json": {"version": 1}}, {"json": {"selection_id": "sel_01jd0000000000000000000000"}}),
    **{
        f"{path}/{part}": body
        for path in ("/selections/{selection_id}", "/prompts/{name}")
        for part, body in (("classify", _CLASSIFIED), ("texts", _TEXTS), ("table", _ANSWERED))
    },
    "/prompts/{name}/evaluations": _ANSWERED,
    "/prompts/{name}/examples": ({"json": {"examples": [{"text": "x", "label": "positive"}]}},),
}
NOBODYS = {
    "{selection_id}": "sel_01jd0000000000000000000000",
    "{dataset_id}": "ds_01jd0000000000000000000000",
    "{name}": "nobodys",
}
"""What a path has in place of an id, and an id of nobody."""
OWNERS = ("alice", "bob")


@pytest.fixture
def guarded(make_guarded: MakeClient) -> TestClient:
    return make_guarded(*OWNERS)


def finish_selection(guarded: TestClient, database: Database, owner: str, pool: Pool | None = None) -> dict[str, Any]:
    """A selection whose classifier asks no model."""
    made: dict[str, Any] = guarded.post("/selections", json=make_submission(), headers=as_(owner)).json()
    result = make_finding_result(pool).model_copy(update={"classifier": make_bag_of_words()})
    transact(database, endings.finish, transact(database, claims.claim_job, made["id"], 60), result)
    return made


@pytest.fixture
def alices(guarded: TestClient, database: Database) -> dict[str, Any]:
    """A finished selection of Alice, and a name that says what it found."""
    made = finish_selection(guarded, database, "alice")
    body, headers = {"selection_id": made["id"]}, {**as_("alice"), "If-None-Match": "*"}
    assert guarded.put("/prompts/alices", json=body, headers=headers).status_code == 201
    return made


@pytest.fixture
def alices_path(alices: dict[str, Any], place: str) -> str:
    """The path of what Alice has, and what such a path has in place of an id."""
    if place == "{name}":
        return "/prompts/alices"
    return f"/selections/{alices['id']}" if place == "{selection_id}" else f"/datasets/{alices['dataset_id']}"


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {key_of('alice')}",
        key_of("alice"),
        f"Bearer {key_of('alice')}2",
        f"Bearer {key_of('carol')}",
        f"Bearer {hash_key(key_of('alice'))}",
        "Bearer clé",
    ],
)
def test_call_without_a_known_key_is_unauthorized(guarded: TestClient, authorization: str | None) -> None:
    headers = [] if authorization is None else [("Authorization", authorization.encode("latin-1"))]
    for method, path in (("GET", "/selections"), ("POST", "/selections"), ("GET", "/models")):
        response = guarded.request(method, path, headers=headers)  # type: ignore[arg-type]
        problem_of(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"


def test_health_and_documentation_need_no_key(guarded: TestClient) -> None:
    for path in ("/", "/healthz", "/readyz", "/openapi.json", "/docs"):
        assert guarded.get(path).status_code == 200, path


def test_scheme_is_read_in_any_case(guarded: TestClient) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        response = guarded.get("/selections", headers={"Authorization": f"{scheme} {key_of('alice')}"})
        assert response.status_code == 200, scheme


def routes_of_one_thing(place: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Every documented route of one job or name, with each body to send to it: a new route is tested too."""
    paths = create_app(Settings(_env_file=None)).openapi()["paths"]
    return [
        (method.upper(), path, body)
        for path, operations in paths.items()
        if place in path
        for method in operations
        for body in BODIES.get(path, ({},))
    ]


@pytest.mark.parametrize("place", NOBODYS)
def test_what_another_owner_has_is_not_found(guarded: TestClient, alices_path: str, place: str) -> None:
    had, routes = guarded.get(alices_path, headers=as_("alice")), routes_of_one_thing(place)
    assert routes
    for method, route, body in routes:
        path, is_change = route.replace("{row}", "2"), method in ("PUT", "DELETE") or route.endswith("/examples")
        headers = {**as_("bob"), **({"If-Match": "*"} if is_change else {})}
        ids = alices_path.rpartition("/")[2], NOBODYS[place]
        theirs, nobodys = (guarded.request(method, path.replace(place, one), headers=headers, **body) for one in ids)
        refusal, unknown = problem_of(theirs, 404, "not-found"), problem_of(nobodys, 404, "not-found")
        for varying in ("instance", "request_id"):
            del refusal[varying], unknown[varying]
        unknown["detail"] = unknown["detail"].replace(*reversed(ids))
        assert refusal == unknown, (method, route)
    assert had.status_code == 200
    assert had.json().get("status", "succeeded") == "succeeded"
    assert guarded.get(alices_path, headers=as_("alice")).json() == had.json()


@pytest.mark.usefixtures("alices")
def test_list_of_another_owner_is_empty(guarded: TestClient) -> None:
    for path in ("/selections", "/prompts", "/datasets"):
        assert guarded.get(path, headers=as_("alice")).json()["items"] != []
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


def test_name_that_two_owners_have_is_rendered_from_the_pool_of_each(guarded: TestClient, database: Database) -> None:
    pools = {"alice": range(20), "bob": range(20, 40)}
    for owner, rows in pools.items():
        made = finish_selection(guarded, database, owner, make_pool_of_rows(rows))
        body, headers = {"selection_id": made["id"]}, {**as_(owner), "If-None-Match": "*"}
        assert guarded.put("/prompts/both", json=body, headers=headers).status_code == 201
    for owner, rows in [*pools.items()] * 2:
        answer = guarded.post("/prompts/both/render", json={"input": "a warm film"}, headers=as_(owner)).json()
        shown = [one["row"] for one in answer["prompts"][0]["demonstrations"]]
        listed = guarded.get("/prompts/both/examples", headers=as_(owner)).json()["items"]
        assert {*shown, *(one["row"] for one in listed)} <= {*rows}
        assert shown


def test_two_owners_may_use_the_same_idempotency_key(guarded: TestClient) -> None:
    made = [
        guarded.post("/selections", json=make_submission(), headers={**as_(owner), "Idempotency-Key": "same"}).json()
        for owner in OWNERS
    ]
    assert made[0]["id"] != made[1]["id"]
