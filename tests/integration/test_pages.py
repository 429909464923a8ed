"""Pages as the service answers them: frames, fragments, refusals, and what a list costs."""

import re
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from app.lifecycle import endings
from app.lifecycle.claims import renew_lease
from app.store.database import Database
from app.store.tables import Job
from lens_engine.config import USES
from lens_engine.prompt.wording import show_share
from lens_engine.show.report import join_percent
from lens_engine.types import StopReason
from tests.answered import make_answers
from tests.api_keys import headers_of
from tests.integration.conftest import MakeClient, Selections, asked_of, run_sql
from tests.integration.samples import PROGRESS, make_answer, make_csv, make_result, make_rows
from tests.unit.lens_engine.show.reported import make_reported

FRAGMENT = {"HX-Request": "true"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}

MANY, _COPIES_AT_A_TIME = 10_000, 500


def fill(database: Database, selection_id: str, number: int) -> None:
    """Copies of a selection, with older ids: few at a time, because a busy machine cuts off a statement after 10 s."""
    columns = ", ".join(one.name for one in Job.__table__.columns if one.name != "id" and one.computed is None)
    copies = f"""
        INSERT INTO jobs (id, {columns}) SELECT copy, {columns}
        FROM jobs, (SELECT 'sel_00' || lpad(n::text, 24, '0') copy
            FROM generate_series(CAST(:first AS int), CAST(:last AS int)) n) copies
        WHERE id = :id
    """
    for last in range(_COPIES_AT_A_TIME, number + 1, _COPIES_AT_A_TIME):
        run_sql(database, copies, id=selection_id, first=last - _COPIES_AT_A_TIME + 1, last=last)
    run_sql(database, "ANALYZE jobs")


def count_rows_read(engine: Engine, asked: list[tuple[str, Any]]) -> int:
    """Rows of selections that statements read, among them those that a filter takes away."""
    with engine.connect() as connection:
        plans = [
            connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values).scalar_one()
            for statement, values in asked
        ]
    return sum(_count(plan[0]["Plan"]) for plan in plans)


def _count(node: dict[str, Any]) -> int:
    own = node["Actual Rows"] + node.get("Rows Removed by Filter", 0) if "Relation Name" in node else 0
    return int(own * node["Actual Loops"]) + sum(map(_count, node.get("Plans", ())))


def test_list_of_many_reads_as_few_rows_as_a_short_one(client: TestClient, selections: Selections) -> None:
    engine = client.app.state.services.database.engine  # type: ignore[attr-defined]
    fill(selections.database, selections.succeeded(), MANY)
    path = "/pages/selections?limit=20"
    for _ in range(2):
        with asked_of(engine) as asked:
            page = client.get(path, headers=FRAGMENT).text

        assert page.count("<tr>") >= 20
        lists = [one for one in asked if "FROM jobs" in one[0]]
        assert len(lists) == 1
        assert count_rows_read(engine, lists) <= 21, "the list reads what it does not show"
        path = re.findall(r'hx-get="([^"]+cursor=[^"]+)"', page)[0] + "&limit=20"


def test_browser_gets_the_frame_and_htmx_the_content(client: TestClient, selections: Selections) -> None:
    path = f"/pages/selections/{selections.succeeded()}"
    frame, content = client.get(path, headers=BROWSER), client.get(path, headers={**BROWSER, **FRAGMENT})
    assert frame.text.startswith("<!doctype html>")
    assert frame.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "HX-Request" in frame.headers["vary"], "a cache must not give one for the other"
    assert "<!doctype" not in content.text
    assert "What to use" in content.text


def test_progress_is_said_every_ten_percent(client: TestClient, selections: Selections) -> None:
    claim = selections.running()
    selections.transact(renew_lease, claim, 60, replace(PROGRESS, expected_accuracy=0.54))  # 29 % of the pairs
    shown = client.get(f"/pages/selections/{claim.job_id}/live", headers=FRAGMENT).text
    assert '<p role="status" class="unseen">20&nbsp;% done</p>' in shown
    assert f"Now about {join_percent('54 %')} right on new texts" in shown


def test_live_part_is_sent_only_if_it_has_changed(client: TestClient, selections: Selections) -> None:
    claim = selections.running()
    path = f"/pages/selections/{claim.job_id}/live"
    etag = client.get(path, headers=FRAGMENT).headers["etag"]
    again = client.get(path, headers={**FRAGMENT, "If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    selections.transact(renew_lease, claim, 60, PROGRESS)
    changed = client.get(path, headers={**FRAGMENT, "If-None-Match": etag})
    assert (changed.status_code, changed.headers["cache-control"]) == (200, "no-store")
    assert changed.headers["etag"] != etag
    selections.transact(endings.fail, claim, {"code": "non-finite", "detail": "x"})
    assert client.get(path, headers={**FRAGMENT, "If-None-Match": "*"}).headers["hx-retarget"] == "#main"


def test_frame_shows_its_address_as_text(client: TestClient) -> None:
    frame = client.get('/pages/new?x=%22%3E<script>alert(1)</script>"><script>', headers=BROWSER)
    assert frame.status_code == 200
    assert "<script>" not in frame.text


@pytest.mark.parametrize(
    "path", ["/pages/..%2Fprompts/desk/export", "/pages/%2E%2E/selections", "/pages//evil.example"]
)
def test_frame_leads_to_pages_alone(client: TestClient, path: str) -> None:
    assert "hx-get" not in client.get(path, headers=BROWSER).text


@pytest.mark.parametrize("name", ["htmx.min.js", "pages.js", "pages.css", "lens.css"])
def test_assets_may_be_kept_and_are_what_they_say(client: TestClient, name: str) -> None:
    answer = client.get(f"/pages/assets/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/css" if name.endswith("css") else "text/javascript")
    assert (answer.headers["x-content-type-options"], answer.headers["cache-control"][:6]) == ("nosniff", "public")


@pytest.mark.parametrize("path", ["nothing.js", "..%2fshell.py", "%2e%2e%2fshell.py", ""])
def test_other_files_are_no_assets(client: TestClient, path: str) -> None:
    answer = client.get(f"/pages/assets/{path}", headers=BROWSER)
    assert answer.status_code == 404, answer.text


def test_frame_and_assets_need_no_key_and_content_does(make_client: MakeClient) -> None:
    client = make_client(require_keys=True)
    for path in ("/pages/selections", "/pages/assets/pages.js"):
        assert client.get(path, headers=BROWSER).status_code == 200
    for path in ("/pages/selections", "/pages/new", "/pages/prompts", "/pages/compare?of=a&of=b"):
        answer = client.get(path, headers=FRAGMENT)
        assert (answer.status_code, answer.headers["hx-retarget"]) == (401, "#problem")
        assert 'id="key-form"' in answer.text


def test_content_of_another_owner_is_not_shown(make_guarded: MakeClient, selections: Selections) -> None:
    selection_id = selections.succeeded()  # of the owner "local"
    client, headers = make_guarded("alice"), {**FRAGMENT, **headers_of("alice")}
    for path in (f"/{selection_id}", f"/{selection_id}/live", f"/{selection_id}/rows?of=classifier&gold=0&answer=0"):
        assert client.get(f"/pages/selections{path}", headers=headers).status_code == 404
    assert client.get(f"/pages/compare?of={selection_id}&of={selection_id}", headers=headers).status_code == 404
    for action in ("cancel", "resume", "delete"):
        assert client.post(f"/pages/selections/{selection_id}/{action}", headers=headers).status_code == 404
    assert run_sql(selections.database, "SELECT status FROM jobs") == "succeeded"


def test_page_and_report_show_the_figures_of_the_result(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded(make_reported())
    addresses = (f"/pages/selections/{selection_id}", f"/selections/{selection_id}/report")
    figure = "{tested,3,test,accuracy}"
    read = "SELECT result #>> CAST(:path AS text[]) FROM reports WHERE job_id = :id"
    page = client.get(addresses[0], headers=FRAGMENT).text
    assert re.search(r'"probably" class="trouble">billing 94\s*%</td>', page)
    assert "judged by 200 test rows" in page
    before = join_percent(show_share(float(run_sql(selections.database, read, path=figure, id=selection_id)), 200))
    wanted = ("<strong>12\xa0%</strong>", "(25 of 200 test texts)")
    for address, figure_of_page in zip(addresses, wanted, strict=True):
        shown = client.get(address, headers=FRAGMENT).text
        assert before in shown
        assert figure_of_page not in shown
    assert ">4, 913, 18<" in client.get(f"/pages/compare?of={selection_id}&of={selection_id}", headers=FRAGMENT).text

    change = "UPDATE reports SET result = jsonb_set(result, CAST(:path AS text[]), '0.1234') WHERE job_id = :id"
    run_sql(selections.database, change, path=figure, id=selection_id)

    for address, figure_of_page in zip(addresses, wanted, strict=True):
        assert figure_of_page in client.get(address, headers=FRAGMENT).text


def test_older_of_two_is_the_baseline_whichever_was_marked_first(client: TestClient, selections: Selections) -> None:
    old, new = finish_with_answers(selections), finish_with_answers(selections, classifier=(0, 1, 0, 1, 0, 1))
    pages = [client.get(f"/pages/compare?of={a}&of={b}", headers=FRAGMENT).text for a, b in ((old, new), (new, old))]
    assert pages[0] == pages[1]
    assert re.findall(r'(older one|newer): <a href="\S+/(\w+)"', pages[0]) == [("older one", old), ("newer", new)]
    assert "Right only in the newer: 1" in pages[0]
    assert pages[0].count("<time ") == 2
    assert "+0 points" in pages[0]
    for named in ("jobs SET name = 'a try'", "datasets SET name = 'films.csv'"):
        run_sql(selections.database, f"UPDATE {named}")
    listed = client.get("/pages/selections", headers=FRAGMENT).text
    assert [listed.count(one) for one in ('name="of"', "> compare<", ">films.csv, 60 rows")] == [2, 2, 2]
    other = client.get(f"/pages/compare?of={old}&of={selections.succeeded(make_reported())}", headers=FRAGMENT).text
    assert "no difference is told where other rows or labels judged" in other
    assert " points" not in other


def test_cancelled_selection_without_a_result_offers_none(client: TestClient, selections: Selections) -> None:
    selection_id = selections.cancelled()

    shown = client.get(f"/pages/selections/{selection_id}", headers=FRAGMENT).text
    assert "You stopped it before there was a result. Resume goes on where it stopped." in shown
    assert f"/selections/{selection_id}/result" not in shown
    listed = client.get("/pages/selections", headers=FRAGMENT).text
    assert selection_id in listed
    assert f'value="{selection_id}"' not in listed, "it can be marked for a comparison"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/pages/selections?cursor=x", 400),
        ("/pages/selections?limit=0", 400),
        ("/pages/selections/nothing", 404),
        ("/pages/compare?of=sel_1", 400),
        ("/pages/new?dataset=ds_01k5kcfb0p5rkbzz2bv2ckzq4t", 404),
        ("/pages/new?dataset=%00", 400),
        ("/pages/suggestion?dataset=%00", 400),
        ("/pages/prompts/nothing", 404),
        ("/pages/nowhere", 404),
    ],
)
def test_refusal_is_a_part_of_the_page(client: TestClient, path: str, status: int) -> None:
    answer = client.get(path, headers=FRAGMENT)
    assert (answer.status_code, answer.headers["hx-retarget"]) == (status, "#problem"), answer.text
    assert answer.text.startswith("<p><strong>")


def test_form_offers_instructions_and_its_prompt_begins_with_one(client: TestClient) -> None:
    dataset = client.post("/datasets", files={"dataset": ("films.csv", make_csv())}).json()["id"]
    offered = client.get("/pages/suggestion", params={"dataset": dataset}, headers=FRAGMENT).text
    assert offered.count('data-fill="instruction"') == 3
    assert "About the same work as Quick, for so few rows." in offered
    form = {"dataset_id": dataset, "label": ["positive", "negative"], "word": ["great", "terrible"]}
    prompt = client.post("/pages/prompt", data={**form, "instruction": "Praise?"}, headers=FRAGMENT).text
    assert ">Praise?\n" in prompt
    assert (
        "the instruction has only spaces"
        in client.post("/pages/prompt", data={**form, "instruction": " "}, headers=FRAGMENT).text
    )


def test_prompt_that_was_not_judged_goes_live_only_after_a_warning(client: TestClient, selections: Selections) -> None:
    unknown = {"judged": None, "estimate": None}
    answers = tuple(make_answer(use, "random", 3, 0).model_copy(update=unknown) for use in USES)
    found = make_result(StopReason.BUDGET).model_copy(update={"support_examples": answers})
    selection_id = selections.succeeded(found.with_digest())
    address, form = f"/pages/selections/{selection_id}", {"name": "Films"}
    says = "The run ended before it judged this prompt"
    shown = client.get(address, headers=FRAGMENT).text
    assert says in shown

    asked = client.post(f"{address}/names", data=form, headers=FRAGMENT).text

    assert says in asked
    assert "Put films into production" in asked
    assert client.get("/prompts/films").status_code == 404
    live = client.post(f"{address}/names", data={**form, "sure": "yes"}, headers=FRAGMENT)
    assert live.headers["hx-redirect"].endswith("/pages/prompts/films")
    again = client.post(f"{address}/names", data=form, headers=FRAGMENT).text
    assert says in again
    assert "Replace version 1 of films" in again
    client.put("/prompts/films", json={"selection_id": selections.succeeded()}, headers={"If-Match": '"1"'})
    assert says in client.get("/pages/prompts/films/changes", params={"version": 1}, headers=FRAGMENT).text


def finish_with_answers(selections: Selections, classifier: tuple[int, ...] = (0, 1, 0, 1, 1, 1)) -> str:
    """Rows 0 to 5; the classifier, which is to be used, is wrong for row 4, and one prompt is for row 1."""
    rows: dict[str, Any] = {"rows": tuple(range(6)), "gold": (0, 1, 0, 1, 0, 1)}
    answers = make_answers(**rows, classifier=classifier, support_examples=((0, 0, None, 1, 1, 1), None))
    return selections.succeeded(make_result().model_copy(update={"answers": answers, "first": "classifier"}))


def test_rows_say_what_each_way_answers_with_the_wrong_ones_first(client: TestClient, selections: Selections) -> None:
    address = f"/pages/selections/{finish_with_answers(selections)}/rows"
    page = client.get(address, headers=FRAGMENT).text

    assert re.findall(r'<th scope="row">(\d+)</th>', page) == ["5", "2", "1", "3", "4", "6"]
    assert re.findall(r'value="(\w+)"[^>]*> ([\w ]+) <strong>(\d+)', page) == [
        ("all", "All", "6"),
        ("wrong", "The classifier is wrong", "1"),
        ("differs", "Answers differ", "1"),
    ]
    assert "Rows are counted from 1, without the header." in page
    assert re.findall(r'value="(\w+)" checked', page) == ["wrong"], "each row has a field, a stop for the keyboard"
    assert re.findall(r'<tr class="([a-z ]*)">', page)[:3] == ["wrong ", " differs", " "]
    assert make_rows()[4]["text"] in page

    cell = client.get(address, params={"of": "prompt", "gold": 1, "answer": 0}, headers=FRAGMENT).text
    assert re.findall(r'<th scope="row">(\d+)</th>', cell) == ["2"]
    assert client.get(address, params={"of": "prompt", "gold": 9, "answer": 0}, headers=FRAGMENT).status_code == 404


def test_selection_is_repeated_with_labels_that_a_person_corrected(client: TestClient, selections: Selections) -> None:
    before = finish_with_answers(selections)
    run_sql(selections.database, "UPDATE jobs SET name = 'films.csv'")
    address, form = f"/pages/selections/{before}/corrected", {"key": "k", "dataset-3": " ", "dataset-4": "negative"}
    first, again = (client.post(address, data=form, headers=FRAGMENT) for _ in range(2))

    assert (first.status_code, first.headers["hx-redirect"]) == (200, again.headers["hx-redirect"]), first.text
    new, old = (client.get(f"/selections/{one}").json() for one in (first.headers["hx-redirect"][-30:], before))
    assert new["spec"] == old["spec"]
    expected = ("films.csv, corrected", "queued", old["test_dataset_id"])
    assert (new["name"], new["status"], new["test_dataset_id"]) == expected
    shown = client.get(f"/pages/selections/{new['id']}", headers=FRAGMENT).text
    assert "Dataset: 2 labels were changed or left out by hand; to correct only what the classifier doubted" in shown
    query = "SELECT array_agg(text || '|' || label ORDER BY row) FROM examples WHERE dataset_id = :id"
    rows = [f"{one['text']}|{one['label']}" for one in make_rows()]
    rows[4] = f"{make_rows()[4]['text']}|negative"
    assert run_sql(selections.database, query, id=new["dataset_id"]) == [*rows[:3], *rows[4:]]
    refused = client.post(address, data={"key": "k", "dataset-4": ""}, headers=FRAGMENT)
    assert refused.status_code == 400
