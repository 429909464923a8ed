"""/prompts: names that production reads, their versions, and who may change them."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.lifecycle import endings
from app.prompts import service
from app.settings import Settings
from app.store.database import Database
from app.store.keys import create_key
from app.store.quota import lock_owner
from app.web.authentication import LOCAL_OWNER
from lens_engine.result import SelectionResult
from lens_engine.types import StopReason
from tests.integration.conftest import MakeClient, Selections
from tests.integration.samples import make_answer, make_result, pointers_of, problem_of

NEW = {"If-None-Match": "*"}
PARTS = ("support-examples", "support-examples?use=probabilities", "classifier")


def make_other_result() -> SelectionResult:
    answers = (make_answer("prompt", "lens", 5, 2), make_answer("probabilities", "lens", 2, 5))
    return make_result().model_copy(update={"support_examples": answers}).with_digest()


def put(client: TestClient, name: str = "triage", version: int | None = None, **body: Any) -> Any:
    """Change a name that has this version; None for a new one."""
    headers = NEW if version is None else {"If-Match": f'"{version}"'}
    return client.put(f"/prompts/{name}", json=body, headers=headers)


def test_name_says_what_the_selection_found(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    made = put(client, selection_id=selection_id, note="first")
    assert made.status_code == 201, made.text
    assert (made.headers["etag"], made.headers["location"]) == ('"1"', "/prompts/triage")
    shown = client.get("/prompts/triage")
    assert shown.json() == made.json()
    expected = {"name": "triage", "version": 1, "selection_id": selection_id, "note": "first", "key_name": None}
    assert shown.json().items() >= expected.items()
    assert [shown.json()[name] for name in ("accuracy", "head", "classifier_accuracy")] == [0.875, "prior", 0.75]
    resources = ("/prompts/triage", f"/selections/{selection_id}")
    for part in PARTS:
        of_name, of_selection = (client.get(f"{path}/{part}") for path in resources)
        assert of_name.headers["etag"] == '"1"'
        assert of_name.json() == as_named(of_selection.json(), part)
    for body in ({"input": "b"}, {"inputs": ["a", "b"]}):
        of_name, of_selection = (client.post(f"{path}/render", json=body) for path in resources)
        assert of_name.json() == as_named(of_selection.json(), "render")


def as_named(answer: dict[str, Any], part: str) -> dict[str, Any]:
    """What a name says where the selection says this."""
    return answer if part == "classifier" else {**answer, "name": "triage", "version": 1}


@pytest.mark.parametrize("path", ["", *(f"/{part}" for part in PARTS)])
def test_known_version_is_not_sent_again(client: TestClient, selections: Selections, path: str) -> None:
    put(client, selection_id=selections.succeeded())
    known = client.get(f"/prompts/triage{path}", headers={"If-None-Match": '"1"'})
    assert (known.status_code, known.headers["etag"], known.content) == (304, '"1"', b"")
    put(client, version=1, selection_id=selections.succeeded(make_other_result()))
    changed = client.get(f"/prompts/triage{path}", headers={"If-None-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')


def test_older_version_is_taken_up_again(client: TestClient, selections: Selections) -> None:
    first, second = selections.succeeded(), selections.succeeded(make_other_result())
    put(client, selection_id=first)
    before = client.get("/prompts/triage/support-examples").json()
    put(client, version=1, selection_id=second, note="better")
    back = client.put("/prompts/triage", json={"version": 1, "note": "worse"}, headers={"If-Match": '"2"'})
    assert (back.status_code, back.json()["version"], back.json()["selection_id"]) == (200, 3, first)
    assert client.get("/prompts/triage/support-examples").json() == {**before, "version": 3}
    history = client.get("/prompts/triage/versions").json()["items"]
    assert [(one["version"], one["selection_id"], one["note"]) for one in history] == [
        (3, first, "worse"),
        (2, second, "better"),
        (1, first, None),
    ]


def test_what_becomes_of_the_selection_leaves_the_name_alone(client: TestClient, selections: Selections) -> None:
    claim = selections.cancelling()
    assert selections.transact(endings.finish, claim, make_result(StopReason.CANCELLED))
    gone = selections.succeeded()
    for name, selection_id in (("resumed", claim.job_id), ("deleted", gone)):
        assert put(client, name, selection_id=selection_id).status_code == 201
    before = [client.get(f"/prompts/{name}/support-examples").json() for name in ("resumed", "deleted")]
    assert before[0]["partial"]
    assert client.post(f"/selections/{claim.job_id}/resume").status_code == 202
    assert client.delete(f"/selections/{gone}").status_code == 204
    assert [client.get(f"/prompts/{name}/support-examples").json() for name in ("resumed", "deleted")] == before


def test_same_content_makes_no_version(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    put(client, selection_id=selection_id)
    again = put(client, version=1, selection_id=selection_id, note="again")
    assert (again.status_code, again.json()["version"], again.json()["note"]) == (200, 1, None)


@pytest.mark.parametrize(
    ("exists", "headers", "status", "code"),
    [
        (True, {}, 428, "precondition-required"),
        (False, {}, 428, "precondition-required"),
        (True, NEW, 412, "precondition-failed"),
        (True, {"If-Match": '"2"'}, 412, "precondition-failed"),
        (True, {"If-Match": "1"}, 412, "precondition-failed"),
        (True, {"If-Match": 'W/"1"'}, 412, "precondition-failed"),
        (True, {"If-Match": 'W/"1", "2"'}, 412, "precondition-failed"),
        (False, {"If-Match": '"1"'}, 404, "not-found"),
    ],
)
def test_change_names_the_version_that_it_changes(
    client: TestClient, selections: Selections, exists: bool, headers: dict[str, str], status: int, code: str
) -> None:
    selection_id = selections.succeeded()
    if exists:
        put(client, selection_id=selection_id)
    body = {"selection_id": selections.succeeded(make_other_result())}
    problem_of(client.put("/prompts/triage", json=body, headers=headers), status, code)
    if headers != NEW:
        problem_of(client.delete("/prompts/triage", headers=headers), status, code)
    assert client.get("/prompts/triage").status_code == (200 if exists else 404)
    assert len(client.get("/prompts").json()["items"]) == exists


def test_deleted_name_is_gone_with_its_content_and_numbers_go_on(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    put(client, selection_id=selection_id)
    assert client.delete("/prompts/triage", headers={"If-Match": "*"}).status_code == 204
    for path in ("", "/versions", *(f"/{part}" for part in PARTS)):
        problem_of(client.get(f"/prompts/triage{path}"), 404, "not-found")
    problem_of(client.delete("/prompts/triage", headers={"If-Match": "*"}), 404, "not-found")
    problem_of(client.delete("/prompts/triage", headers=NEW), 404, "not-found")
    assert client.get("/prompts").json()["items"] == []
    assert selections.count("prompt_contents") == 0
    assert put(client, selection_id=selection_id).json()["version"] == 3
    history = client.get("/prompts/triage/versions").json()["items"]
    assert [one["selection_id"] is None for one in history] == [False, True, False]
    refusal = client.put("/prompts/triage", json={"version": 1}, headers={"If-Match": '"3"'})
    assert pointers_of(problem_of(refusal, 422, "unknown-version")) == ["/version"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"selection_id": "sel_1", "version": 1}, ""),
        ({"version": 10**12}, "/version"),
        ({"selection": "sel_1"}, "/selection"),
    ],
)
def test_bad_body_is_refused_with_its_place(client: TestClient, body: Any, pointer: str) -> None:
    refusal = client.put("/prompts/triage", json=body, headers=NEW)
    assert pointer in pointers_of(problem_of(refusal, 422, "invalid-request"))


@pytest.mark.parametrize("name", ["Triage", "-triage", "a b", "é", "x" * 101, "a%0A"])
def test_name_of_another_form_is_refused(client: TestClient, name: str) -> None:
    for refusal in (client.get(f"/prompts/{name}"), client.put(f"/prompts/{name}", json={"version": 1}, headers=NEW)):
        assert "a name has 1 to 100 lower-case letters" in problem_of(refusal, 400, "bad-request")["detail"]


def test_selection_without_result_cannot_be_named(client: TestClient, selections: Selections) -> None:
    for selection_id, status, code in (
        ("sel_01jd0000000000000000000000", 422, "unknown-selection"),
        (selections.queued(), 409, "not-finished"),
        (selections.failed(), 409, "no-result"),
    ):
        problem_of(put(client, selection_id=selection_id), status, code)
        assert client.get("/prompts/triage").status_code == 404


def test_history_has_the_name_of_the_key(make_client: MakeClient, database: Database, selections: Selections) -> None:
    selection_id = selections.succeeded()  # of the owner `local`
    key = create_key(database, "local", "deploy").secret
    client = make_client()
    client.headers["Authorization"] = f"Bearer {key}"
    assert put(client, selection_id=selection_id).json()["key_name"] == "deploy"


def test_name_too_many_is_refused(client: TestClient, selections: Selections, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_NAMES", 2)
    selection_id = selections.succeeded()
    assert [put(client, name, selection_id=selection_id).status_code for name in "ab"] == [201, 201]
    problem_of(put(client, "c", selection_id=selection_id), 413, "owner-full")
    assert put(client, "a", version=1, selection_id=selections.succeeded(make_other_result())).status_code == 200
    assert client.delete("/prompts/b", headers={"If-Match": "*"}).status_code == 204
    assert put(client, "c", selection_id=selection_id).status_code == 201
    monkeypatch.setattr(service, "MOST_VERSIONS", 2)
    assert (
        "a new name" in problem_of(put(client, "a", version=2, selection_id=selection_id), 413, "owner-full")["detail"]
    )


def pages(client: TestClient, path: str) -> Iterator[list[dict[str, Any]]]:
    cursor: str | None = ""
    while cursor is not None:
        page = client.get(path, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        yield page["items"]
        cursor = page["next"]


def test_lists_come_in_pages(client: TestClient, selections: Selections) -> None:
    both = selections.succeeded(), selections.succeeded(make_other_result())
    for name in ("c", "a", "b-1"):
        put(client, name, selection_id=both[0])
    assert [[one["name"] for one in page] for page in pages(client, "/prompts")] == [["a", "b-1"], ["c"]]
    for version in (1, 2):
        put(client, "a", version, selection_id=both[version % 2])
    assert [[one["version"] for one in page] for page in pages(client, "/prompts/a/versions")] == [[3, 2], [1]]
    cursor = client.get("/prompts", params={"limit": 1}).json()["next"]
    problem_of(client.get("/prompts/a/versions", params={"cursor": cursor}), 400, "invalid-cursor")


def test_one_of_several_changes_at_once_is_made(client: TestClient, selections: Selections) -> None:
    both = selections.succeeded(), selections.succeeded(make_other_result())
    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(put, client, selection_id=both[0]) for _ in range(8)]
        assert sorted(one.result().status_code for one in made) == [201, *[412] * 7]
        changed = [pool.submit(put, client, version=1, selection_id=both[1]) for _ in range(8)]
        assert sorted(one.result().status_code for one in changed) == [200, *[412] * 7]
    assert client.get("/prompts/triage").json()["version"] == 2


def test_no_reader_sees_a_mixture(client: TestClient, selections: Selections) -> None:
    both = selections.succeeded(), selections.succeeded(make_other_result())
    rows = dict(zip(both, ([3, 0], [5, 2]), strict=True))
    put(client, selection_id=both[0])
    ended = Event()

    def read() -> int:
        number = 0
        while not ended.is_set():
            answer = client.get("/prompts/triage/support-examples")
            found = answer.json()
            assert answer.headers["etag"] == f'"{found["version"]}"'
            assert found["selection_id"] == both[(found["version"] - 1) % 2]
            assert [one["row"] for one in found["examples"]] == rows[found["selection_id"]]
            number += 1
        return number

    with ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(read) for _ in range(3)]
        for version in range(1, 12):
            assert put(client, version=version, selection_id=both[version % 2]).status_code == 200
        ended.set()
        assert all(one.result() > 0 for one in reading)


def test_contents_count_among_the_bytes_of_an_owner(make_client: MakeClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    refusal = problem_of(put(make_client(max_owner_bytes=100), selection_id=selection_id), 413, "owner-full")
    with_content = int(re.findall(r"would have ([\d,]+) bytes", refusal["detail"])[0].replace(",", ""))
    problem_of(put(make_client(max_owner_bytes=with_content - 1), selection_id=selection_id), 413, "owner-full")
    roomy = make_client(max_owner_bytes=1_000_000)
    assert roomy.get("/prompts").json()["items"] == []
    assert put(roomy, selection_id=selection_id).status_code == 201
    assert put(make_client(max_owner_bytes=with_content), "other", selection_id=selection_id).status_code == 413


def test_name_waits_for_its_owners_lock(
    client: TestClient, settings: Settings, database: Database, selections: Selections
) -> None:
    """Otherwise two requests at once would each find room for what they store."""
    body = {"selection_id": selections.succeeded()}
    with ThreadPoolExecutor(1) as threads:
        with database.session_scope() as session:
            lock_owner(session, LOCAL_OWNER, settings)
            answer = threads.submit(client.put, "/prompts/triage", json=body, headers=NEW)
            with pytest.raises(TimeoutError):
                answer.result(0.5)
        assert answer.result(20).status_code == 201
