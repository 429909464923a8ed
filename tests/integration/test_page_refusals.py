"""What the pages ask back, and what they say of files and names that cannot be used as they are."""

import re
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.errors import Unavailable
from app.web.authentication import LOCAL_OWNER
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import SMALL_OPTIONS, make_csv, make_rows, make_spec, problem_of
from tests.integration.test_pages import BROWSER, FRAGMENT


def store(client: TestClient, content: bytes, name: str = "films.csv") -> Any:
    return client.post("/pages/datasets", files={"dataset": (name, content)}, headers=FRAGMENT)


def suggest(client: TestClient, content: bytes, name: str = "films.csv") -> Any:
    """The answer to the request for the form of a new selection of this file."""
    dataset = store(client, content, name).headers["hx-redirect"].rpartition("=")[2]
    return client.get(f"/pages/suggestion?dataset={dataset}", headers=FRAGMENT)


def test_file_of_too_few_rows_is_refused_once_and_cannot_be_started(client: TestClient) -> None:
    answer = suggest(client, make_csv(make_rows()[:8]))
    assert answer.status_code == 200, answer.text
    refusals = re.findall(r'class="trouble">the dataset has 8 usable rows', answer.text)
    assert len(refusals) == 1, "once for all presets"
    assert '<button class="act" disabled>' in answer.text
    assert '<button class="act">' in suggest(client, make_csv()).text


@pytest.mark.parametrize(
    ("header", "label", "says"),
    [
        ("text,label", "T-{n}", "each of the 40 rows has a label of its own in label"),
        ("text,Label", "", "Label is empty in 40 rows;"),
        ("text,ticket,team,shop", "T-{n},{team},{team} 1", "<option>ticket</option><option selected>team</option>"),
        ("text,done", "", "No column looks like labels"),
    ],
)
def test_file_without_labels_is_refused_with_advice(client: TestClient, header: str, label: str, says: str) -> None:
    rows = [
        f"the parcel number {n} is late," + label.format(n=n, team=("red team", "blue team")[n % 2]) for n in range(40)
    ]
    answer = store(client, "\n".join([header, *rows]).encode())
    assert (says in answer.text, "hx-redirect" in answer.headers) == (True, False), answer.text
    assert "No labels? Open a" in client.get("/pages/new", headers=FRAGMENT).text


def test_field_that_no_store_keeps_and_row_that_is_missing_are_refused(client: TestClient) -> None:
    dataset = store(client, make_csv()).headers["hx-redirect"].rpartition("=")[2]
    answers = [
        client.post("/pages/prompt", data={"dataset_id": dataset, "row": "1", **fields}, headers=FRAGMENT)
        for fields in ({"template": "a\0"}, {"word": "\0"}, {"row": "1000"})
    ]
    assert [one.status_code for one in answers] == [422, 422, 200]
    for one, said in zip(answers, ("holds NUL", "holds NUL", "there is no row 1000"), strict=True):
        assert said in one.text


def test_form_is_worked_on_only_when_it_is_admitted(client: TestClient) -> None:
    form = {"dataset_id": "ds_01jd5g9k2m7x8y4z0q3r6t1v5w", "options": "{"}
    assert client.post("/pages/submit", data=form, headers=FRAGMENT).status_code == 422
    with ExitStack() as stack:
        with suppress(Unavailable):
            while True:
                stack.enter_context(client.app.state.admission.admit(LOCAL_OWNER))  # type: ignore[attr-defined]
        assert client.post("/pages/submit", data=form, headers=FRAGMENT).status_code == 503


def test_labels_and_rows_have_the_same_numbers_on_each_page(client: TestClient) -> None:
    rows = make_rows()
    rows[1]["label"], rows[2]["label"] = "Positive", "POSITIVE"
    rows += [{"text": "so so", "label": "mixed"}, {"text": rows[0]["text"].upper(), "label": "negative"}]
    dataset = store(client, make_csv(rows)).headers["hx-redirect"].rpartition("=")[2]

    found = client.get(f"/pages/new?dataset={dataset}", headers=FRAGMENT).text
    assert [one in found for one in ("62 rows.</li>", "from 0")] == [True, False]
    offered = client.get(f"/pages/suggestion?dataset={dataset}", headers=FRAGMENT).text
    assert "more than one label and was set aside (" in offered
    size = "62 rows, 2 labels"
    assert f">{size}: negative (31), positive (30). Left out, with too few rows: mixed (1).</li>" in " ".join(
        offered.split()
    )
    fields = [re.findall(rf'name="{name}"[^>]* value="([^"]*)"', offered) for name in ("label", "word", "labels.rare")]
    form = {"dataset_id": dataset, **dict(zip(("label", "word", "labels.rare"), fields, strict=True))}
    selection = client.post("/pages/submit", data=form, headers=FRAGMENT).headers["hx-redirect"]
    shown = client.get(selection, headers=FRAGMENT).text
    assert (fields[2], f"{size} ·" in shown, "· quick</p>" in shown) == (["drop"], True, True)
    assert f"{size} ·" in client.get("/pages/selections", headers=FRAGMENT).text
    again = f"/pages/suggestion?dataset={dataset}&of={selection.rpartition('/')[2]}"
    assert re.search(r'name="options"[^>]*></textarea>', client.get(again, headers=FRAGMENT).text)
    preview = client.post("/pages/prompt", data={**form, "row": "62"}, headers=FRAGMENT).text
    assert ('aria-label="Prompt for row 62"' in preview, rows[61]["text"] in preview) == (True, True)


def test_selection_is_named_by_its_own_file_in_every_tab(client: TestClient) -> None:
    files = {"dataset": ("refused.csv", b"")}
    assert client.post("/pages/datasets", files=files, headers=FRAGMENT).status_code == 422
    assert (
        '<input name="name" maxlength="200" value="Filme &amp; mehr.csv">'
        in suggest(client, make_csv(), r"C:\own\Filme & mehr.csv").text
    )
    dataset = client.post("/datasets", files={"dataset": ("films.csv", make_csv())}).json()
    assert dataset["name"] == "films.csv"


@pytest.mark.parametrize("name", ["a\u202eb.csv", "n" * 201, "folder/"])
def test_file_name_that_is_no_display_name_is_left_out(client: TestClient, name: str) -> None:
    stored = client.post("/datasets", files={"dataset": (name, make_csv())})
    assert (stored.status_code, stored.json()["name"]) == (201, None)


def test_name_in_production_is_replaced_only_as_it_was_shown(client: TestClient, selections: Selections) -> None:
    first, second, third = (selections.succeeded() for _ in range(3))

    def promote(selection_id: str, **fields: str) -> Any:
        fields = {"name": "films", **fields}
        return client.post(f"/pages/selections/{selection_id}/names", data=fields, headers=FRAGMENT)

    assert promote(first).headers["hx-redirect"] == "/pages/prompts/films"
    asked = promote(second, note="better")
    assert (asked.status_code, "hx-redirect" in asked.headers) == (200, False)
    assert "Replace version 1 of films" in asked.text, "what is replaced is not shown"
    assert client.get("/prompts/films").json()["selection_id"] == first
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked.text))
    assert fields == {"name": "films", "note": "better", "version": "1"}

    assert promote(third, **fields).headers["hx-redirect"] == "/pages/prompts/films"
    late = promote(second, **fields)

    assert (late.status_code, late.headers["hx-retarget"]) == (412, "#problem")
    assert client.get("/prompts/films").json()["selection_id"] == third


def test_page_says_what_was_asked(client: TestClient) -> None:
    body = {"spec": make_spec(name="films", options={**SMALL_OPTIONS, "seed": 7}), "examples": make_rows()}
    selection_id = client.post("/selections", json=body).json()["id"]

    shown = " ".join(client.get(f"/pages/selections/{selection_id}", headers=FRAGMENT).text.split())

    assert re.search(r"quick, with \d+ options changed", shown)
    assert "{text} It was {label}." in shown
    assert "positive: great, negative: terrible" in shown
    assert re.search(r"<th[^>]*>seed</th> ?<td[^>]*>7</td>", shown)


def test_report_and_files_have_the_name_of_the_selection(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    page = client.get(f"/pages/selections/{selection_id}", headers=FRAGMENT).text
    assert page.index(f'data-save="{selection_id}-report.html"') < page.index("How often each is right"), (
        "not in the card"
    )
    run_sql(selections.database, "UPDATE jobs SET name = 'My films.csv'")

    page = client.get(f"/pages/selections/{selection_id}", headers=FRAGMENT).text
    assert {f"My-films-{one}" for one in ("prompt.txt", "result.json", "report.html")} <= set(
        re.findall('data-save="([^"]*)"', page)
    )
    report = client.get(f"/selections/{selection_id}/report")
    assert "<small>My films.csv · " in report.text
    assert selection_id not in report.text


def test_browser_at_no_address_gets_a_page(client: TestClient) -> None:
    answer = client.get("/nothing", headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert '<a href="/pages/selections">' in answer.text
    problem_of(client.get("/nothing"), 404, "not-found")
    assert client.get("/favicon.ico").status_code == 204
