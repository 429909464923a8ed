"""A prompt that learns: rows are added to its pool and taken out, each time by a version of the name."""

import asyncio
import re
import time
from collections import Counter
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from app.errors import NotFound
from app.prompts import examples as decisions
from app.prompts.finding import PromptFinder
from app.store.database import Database
from tests.api_keys import headers_of
from tests.integration.conftest import MakeClient, Selections, count_rows, run_sql
from tests.integration.prompts_with_pools import list_asked, make_finding_result, make_pool_of_rows
from tests.integration.samples import make_bag_of_words, make_rows, make_spec, pointers_of, problem_of
from tests.integration.test_quota import stored_by

NEW = {"If-None-Match": "*"}
ADDED = {"text": "my parcel came too late", "label": "negative"}
TEXT = "the parcel of my mother came late"
PATH = "/prompts/triage/examples"


@pytest.fixture
def triage(client: TestClient, selections: Selections) -> str:
    """A name that says what a selection with a pool found; the id of the selection."""
    selection_id = selections.succeeded(make_finding_result())
    put = client.put("/prompts/triage", json={"selection_id": selection_id}, headers=NEW)
    assert put.status_code == 201, put.text
    return selection_id


def add(client: TestClient, version: int, *examples: dict[str, Any], note: str | None = None) -> Any:
    body = {"examples": list(examples), **({} if note is None else {"note": note})}
    return client.post(PATH, json=body, headers={"If-Match": f'"{version}"'})


def take_out(client: TestClient, version: int, row: int, **params: str) -> Any:
    return client.delete(f"{PATH}/{row}", headers={"If-Match": f'"{version}"'}, params=params)


def rendered_rows(client: TestClient, text: str = TEXT) -> list[int]:
    prompt = client.post("/prompts/triage/render", json={"input": text}).json()["prompts"][0]
    return [one["row"] for one in prompt["demonstrations"]]


def list_rows(client: TestClient) -> list[dict[str, Any]]:
    found = list[dict[str, Any]]()
    cursor = None
    while cursor is not None or not found:
        params = {"limit": 7, **({} if cursor is None else {"cursor": cursor})}
        page = client.get(PATH, params=params).json()
        found, cursor = [*found, *page["items"]], page["next"]
        if cursor is None:
            break
    return found


def test_added_row_is_shown_by_the_next_prompt(client: TestClient, triage: str) -> None:
    assert 60 not in rendered_rows(client)
    changed = add(client, 1, ADDED, note="from the hotline")
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    expected = {"version": 2, "pool_rows": 41, "added": 1, "taken_out": 0, "note": "from the hotline"}
    assert changed.json().items() >= {**expected, "selection_id": triage}.items()
    assert rendered_rows(client)[-1] == 60  # the dataset has 60 rows
    result = make_finding_result()
    assert result.pool is not None
    grown = result.pool.model_copy(
        update={"rows": (*result.pool.rows, result.pool.rows[0].model_copy(update={"row": 60, **ADDED}))}
    )
    rendered = client.post("/prompts/triage/render", json={"input": TEXT}).json()
    assert [rendered["prompts"][0]["prompt"]] == list_asked(make_finding_result(grown), "prompt", [TEXT])
    assert rendered["pool_rows"] == 41
    (asked,) = re.findall(r'hx-get="([^"]*/examples[^"]*)"', client.get("/pages/prompts/triage").text)
    assert ADDED["text"] in client.get(asked).text


def test_row_that_is_taken_out_is_shown_no_more(client: TestClient, triage: str) -> None:
    first = rendered_rows(client)[-1]
    assert take_out(client, 1, first, note="wrong label").json()["note"] == "wrong label"
    assert first not in rendered_rows(client)
    assert add(client, 2, ADDED).json()["pool_rows"] == 40
    assert take_out(client, 3, 60).json().items() >= {"pool_rows": 39, "taken_out": 1, "version": 4}.items()
    assert 60 not in rendered_rows(client)
    problem_of(take_out(client, 4, 60), 404, "not-found")
    assert add(client, 4, ADDED).status_code == 200
    assert rendered_rows(client)[-1] == 61  # no number is used again
    assert client.post(f"/selections/{triage}/render", json={"input": TEXT}).json()["pool_rows"] == 40


@pytest.mark.usefixtures("triage")
def test_rows_come_in_pages(client: TestClient) -> None:
    add(client, 1, ADDED)
    take_out(client, 2, 5)
    rows = make_rows()
    expected = [
        {"row": row, "text": rows[row]["text"], "label": rows[row]["label"], "added": False}
        for row in range(40)
        if row != 5
    ]
    assert list_rows(client) == [*expected, {"row": 60, **ADDED, "added": True}]
    page = client.get(PATH, params={"limit": 1})
    assert (page.json()["version"], page.json()["pool_rows"], page.headers["etag"]) == (3, 40, '"3"')
    assert client.get(PATH, headers={"If-None-Match": '"3"'}).status_code == 304
    problem_of(client.get(PATH, params={"cursor": "YWJj"}), 400, "invalid-cursor")


def test_earlier_version_has_its_pool_again(client: TestClient, triage: str) -> None:
    add(client, 1, ADDED)
    take_out(client, 2, 5)
    before = list_rows(client)
    add(client, 3, {"text": "quite new", "label": "positive"})
    take_out(client, 4, 60)
    back = client.put("/prompts/triage", json={"version": 3}, headers={"If-Match": '"5"'})
    assert back.json().items() >= {"version": 6, "pool_rows": 40, "added": 0, "taken_out": 0}.items()
    assert list_rows(client) == before
    first = client.put("/prompts/triage", json={"selection_id": triage}, headers={"If-Match": '"6"'})
    assert first.json().items() >= {"version": 7, "pool_rows": 40}.items()
    assert [row["row"] for row in list_rows(client)] == list(range(40))
    same = client.put("/prompts/triage", json={"selection_id": triage}, headers={"If-Match": '"7"'})
    assert same.json()["version"] == 7
    again = client.put("/prompts/triage", json={"version": 5}, headers={"If-Match": '"7"'})
    assert [row["row"] for row in list_rows(client)] == [*range(5), *range(6, 40), 61], again.text
    history = client.get("/prompts/triage/versions").json()["items"]
    assert [one["added"] - one["taken_out"] for one in history] == [0, 0, 0, -1, 1, -1, 1, 0]


def test_version_before_a_deletion_of_the_name_does_not_come_back(client: TestClient, triage: str) -> None:
    add(client, 1, ADDED)
    take_out(client, 2, 5)
    assert client.delete("/prompts/triage", headers={"If-Match": '"3"'}).status_code == 204
    client.put("/prompts/triage", json={"selection_id": triage}, headers=NEW)
    assert add(client, 5, ADDED).json()["pool_rows"] == len(list_rows(client)) == 41
    for version in (1, 2, 3, 4):
        refusal = client.put("/prompts/triage", json={"version": version}, headers={"If-Match": '"6"'})
        assert pointers_of(problem_of(refusal, 422, "unknown-version")) == ["/version"]
        assert client.get("/pages/prompts/triage/changes", params={"version": version}).status_code == 404
    assert re.findall(r'label="Go back to version (\d+)', client.get("/pages/prompts/triage").text) == ["5"]
    back = client.put("/prompts/triage", json={"version": 5}, headers={"If-Match": '"6"'})
    assert (back.json()["version"], back.json()["pool_rows"], len(list_rows(client))) == (7, 40, 40)


@pytest.mark.usefixtures("triage")
def test_version_with_its_number_after_a_restore_has_a_pool_of_its_own(client: TestClient, database: Database) -> None:
    add(client, 1, ADDED)
    assert rendered_rows(client)[-1] == 60
    for statement in (  # as a backup has it that was made before the change
        "DELETE FROM prompt_examples",
        "UPDATE prompts SET version = 1",
        "DELETE FROM prompt_versions WHERE version = 2",
    ):
        run_sql(database, statement)
    add(client, 1, {"text": "quite another thing", "label": "positive"})
    prompt = client.post("/prompts/triage/render", json={"input": TEXT}).json()["prompts"][0]["prompt"]
    assert ADDED["text"] not in prompt


@pytest.mark.usefixtures("triage")
def test_one_of_several_changes_at_once_is_made(client: TestClient) -> None:
    async def ask() -> list[httpx.Response]:
        transport, known = httpx.ASGITransport(client.app), {"If-Match": '"1"'}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=known) as asked:
            added = [{"examples": [{**ADDED, "text": f"late {number}"}]} for number in range(3)]
            changes = [asked.post(PATH, json=one) for one in added]
            return await asyncio.gather(*changes, *(asked.delete(f"{PATH}/{number}") for number in range(10, 13)))

    codes = sorted(one.status_code for one in asyncio.run(ask()))
    assert codes == [200, *[412] * 5]
    assert client.get("/prompts/triage").json()["version"] == 2


def test_requests_for_whole_pools_wait_their_turn(make_guarded: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = ("ann", "bob", "eve", "joe", "kim", "liz")
    client, reading, seen = make_guarded(*owners), Counter[str](), list[Counter[str]]()

    def read(finder: PromptFinder, _session: object) -> None:
        reading[finder.owner_id] += 1
        seen.append(Counter(reading))
        time.sleep(0.02)
        reading[finder.owner_id] -= 1
        raise NotFound("there is none")

    async def ask() -> list[httpx.Response]:
        transport, page = httpx.ASGITransport(client.app), f"/pages{PATH}"
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=NEW) as asked:
            requests = [
                sent(path, headers=headers_of(owner), **body)
                for owner in owners
                for sent, path, body in (
                    (asked.get, PATH, {}),
                    (asked.post, PATH, {"json": {"examples": [ADDED]}}),
                    (asked.delete, f"{PATH}/1", {}),
                    (asked.get, page, {}),
                    (asked.post, page, {"data": ADDED}),
                    (asked.post, f"{page}/1/out", {"data": ADDED}),
                )
            ]
            return await asyncio.gather(*requests)

    monkeypatch.setattr(PromptFinder, "read_current", read)
    assert [one.status_code for one in asyncio.run(ask())] == [404] * 36
    assert (len(seen), max(max(one.values()) for one in seen), max(one.total() for one in seen)) == (36, 1, 4)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 428, "precondition-required"),
        ({"If-Match": '"7"'}, 412, "precondition-failed"),
        (NEW, 412, "precondition-failed"),
    ],
)
@pytest.mark.usefixtures("triage")
def test_change_names_its_version(client: TestClient, headers: dict[str, str], status: int, code: str) -> None:
    problem_of(client.post(PATH, json={"examples": [ADDED]}, headers=headers), status, code)
    problem_of(client.delete(f"{PATH}/3", headers=headers), status, code)


def test_name_that_is_not_there_learns_nothing(client: TestClient) -> None:
    for headers in ({"If-Match": "*"}, NEW):
        problem_of(client.post(PATH, json={"examples": [ADDED]}, headers=headers), 404, "not-found")
    problem_of(client.get(PATH), 404, "not-found")
    problem_of(client.post("/prompts/triage/dataset"), 404, "not-found")


@pytest.mark.parametrize(
    ("example", "pointer", "what"),
    [
        ({"text": " \u200b", "label": "positive"}, "/examples/1/text", "`examples[1].text` is blank"),
        ({"text": "so", "label": "neutral"}, "/examples/1/label", "none of the labels of the prompt: 'positive'"),
        ({"text": "x" * 2001, "label": "positive"}, "/examples/1/text", "longer than 2,000 characters"),
        ({"text": "e" + "\u0301" * 31, "label": "positive"}, "/examples/1/text", "combining marks"),
        ({"text": "MY parcel came too late ", "label": "negative"}, "/examples/1", "the same as `examples[0]`"),
        ({"text": "My parcel came too late", "label": "positive"}, "/examples/1", "send the right one alone"),
        (
            {"text": "A Warm film at dawn", "label": "positive"},
            "/examples/1",
            "the same as `/prompts/triage/examples/0`;",
        ),
    ],
)
@pytest.mark.usefixtures("triage")
def test_bad_row_is_refused_by_its_name(client: TestClient, example: dict[str, Any], pointer: str, what: str) -> None:
    refusal = problem_of(add(client, 1, ADDED, example), 422, "invalid-request")
    assert pointers_of(refusal) == [pointer]
    assert what in refusal["detail"]
    assert client.get("/prompts/triage").json()["version"] == 1


@pytest.mark.usefixtures("triage")
def test_contradiction_names_the_row_and_how_to_go_on(client: TestClient) -> None:
    sent = {"text": "A WARM\u00a0 film\u200b in spring", "label": "negative"}
    refusal = problem_of(add(client, 1, ADDED, sent), 409, "contradicting-example")
    (error,) = refusal["errors"]
    assert (error["pointer"], error["row"]) == ("/examples/1", 12)
    assert "'negative' in place of 'positive'" in error["detail"]
    assert "DELETE /prompts/triage/examples/12" in error["detail"]
    assert take_out(client, 1, 12).status_code == 200
    assert add(client, 2, ADDED, sent).status_code == 200
    shown = problem_of(
        add(client, 3, {"text": "a fine cast at dawn", "label": "negative"}), 409, "contradicting-example"
    )
    assert "every prompt shows that one" in shown["detail"]
    assert "prompts of this name show" in problem_of(take_out(client, 3, 1), 409, "example-in-use")["detail"]


def test_name_of_a_classifier_warns_that_examples_change_nothing(client: TestClient, selections: Selections) -> None:
    found = {"first": "words", "classifier": make_bag_of_words()}
    selection_id = selections.succeeded(make_finding_result().model_copy(update=found).with_digest())
    assert client.put("/prompts/triage", json={"selection_id": selection_id}, headers=NEW).json()["warning"] is None
    before = client.post("/prompts/triage/classify", json={"inputs": [ADDED["text"]]}).json()["answers"]
    warning = add(client, 1, ADDED).json()["warning"]
    assert warning == (
        "the answers of triage come from its classifier, which examples do not change; ask `…/classify` with "
        "`prompts` set to `support_examples`, or run a selection with the corrected rows"
    )
    assert client.post("/prompts/triage/classify", json={"inputs": [ADDED["text"]]}).json()["answers"] == before
    assert "the answers of triage come from its classifier" in client.get("/pages/prompts/triage").text
    assert take_out(client, 2, 60).json()["warning"] == warning


def test_fixed_prompt_learns_nothing_and_says_why(client: TestClient, selections: Selections) -> None:
    client.put("/prompts/triage", json={"selection_id": selections.succeeded()}, headers=NEW)
    for refused in (add(client, 1, ADDED), take_out(client, 1, 3)):
        assert "shows the same support examples" in problem_of(refused, 409, "no-pool")["detail"]
    page = client.get(PATH).json()
    assert (page["items"], page["pool_rows"], page["next"]) == ([], None, None)
    problem_of(client.post("/prompts/triage/dataset"), 409, "no-pool")


@pytest.mark.usefixtures("triage")
def test_pool_has_a_largest_size(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "MOST_ROWS", 41)
    assert add(client, 1, ADDED).status_code == 200
    detail = problem_of(add(client, 2, {**ADDED, "text": "so"}), 413, "pool-full")["detail"]
    for part in ("more than 41", "DELETE /prompts/triage/examples/{row}", "POST /prompts/triage/dataset"):
        assert part in detail
    assert take_out(client, 2, 7).status_code == 200
    assert add(client, 3, {**ADDED, "text": "so"}).json()["pool_rows"] == 41


@pytest.mark.usefixtures("triage")
def test_request_has_a_largest_number_of_rows(client: TestClient) -> None:
    many = [{"text": f"parcel {number} is late", "label": "negative"} for number in range(201)]
    assert "200 items" in problem_of(add(client, 1, *many), 422, "invalid-request")["detail"]
    assert add(client, 1, *many[:200]).json()["added"] == 200


def test_last_row_stays(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded(make_finding_result(make_pool_of_rows([7])))
    client.put("/prompts/triage", json={"selection_id": selection_id}, headers=NEW)
    problem_of(take_out(client, 1, 7), 409, "example-in-use")


@pytest.mark.usefixtures("triage")
def test_added_rows_are_bytes_of_their_owner(client: TestClient, make_client: MakeClient, database: Database) -> None:
    before = stored_by(database)
    tight = make_client(max_owner_bytes=before + 1000)
    problem_of(add(tight, 1, {"text": "late " * 300, "label": "negative"}), 413, "owner-full")
    assert client.get("/prompts/triage").json()["version"] == 1
    assert add(tight, 1, ADDED).status_code == 200
    assert client.delete("/prompts/triage", headers={"If-Match": '"2"'}).status_code == 204
    assert count_rows(database, "prompt_examples") == 0


@pytest.mark.usefixtures("triage")
def test_new_selection_starts_from_the_examples_of_a_name(client: TestClient) -> None:
    add(client, 1, ADDED)
    made = client.post("/prompts/triage/dataset")
    assert (made.status_code, made.json()["rows"], made.json()["name"]) == (201, 41, "triage")
    assert made.headers["location"] == f"/datasets/{made.json()['id']}"
    assert client.post("/prompts/triage/dataset").status_code == 200
    submitted = client.post("/selections", json={"spec": make_spec(), "dataset_id": made.json()["id"]})
    assert submitted.status_code == 202, submitted.text
